//! The functions whose policies change, and how changes are written.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use retry_runtime::{Overrides, Policy, RetryError, Site, policy, retry, sites};

/// Overrides are in force for the whole process, so tests run one at a time, each in a runtime with
/// virtual time, starting and ending without overrides.
pub(crate) fn alone<R>(test: impl Future<Output = R>) -> R {
    static ONE: Mutex<()> = Mutex::new(());

    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    Overrides::clear();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let result = runtime.block_on(test);
    Overrides::clear();
    result
}

pub(crate) const SHARED: Policy = policy!(attempts = 3, deadline = "1m");

#[retry(attempts = 5, jitter, name = "billing.fetch")]
pub(crate) async fn fetch() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 3, timeout = "2s", deadline = "1m", name = "billing.pay")]
pub(crate) async fn pay(takes: Duration) -> Result<u32, RetryError<String>> {
    tokio::time::sleep(takes).await;
    Err("no".to_owned())
}

#[retry(policy = SHARED, initial_delay = "10ms", name = "shop.order")]
pub(crate) async fn order() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 4, initial_delay = "1ms", name = "shop.look")]
pub(crate) fn look() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(policy = SHARED, initial_delay = "1ms", name = "shop.look-up")]
pub(crate) fn look_up() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 4, initial_delay = "1ms", name = "shop.look.up")]
pub(crate) fn look_up_too() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = 10, backoff = fixed, max_elapsed = "1m", name = "shop.patient")]
pub(crate) async fn patient() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(attempts = N, initial_delay = "1ms", name = "shop.generic")]
pub(crate) async fn generic<const N: u32>() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(timeout = limit, name = "shop.limited")]
pub(crate) async fn limited(limit: Option<Duration>) -> Result<u32, RetryError<String>> {
    Ok(1)
}

/// Its waits are those that the server asks for, so a budget below the first wait is not a mistake.
#[retry(budget = "100ms", retry_after = |_| Some(Duration::from_millis(10)), name = "shop.asks")]
pub(crate) async fn asks() -> Result<u32, RetryError<String>> {
    Err("no".to_owned())
}

#[retry(
    backoff = custom("10ms", "20ms"), name = "shop.custom", context = cx,
)]
pub(crate) async fn custom(last: &Mutex<Vec<bool>>) -> Result<u32, RetryError<String>> {
    last.lock().unwrap().push(cx.is_last());
    Err("no".to_owned())
}

/// Two functions with the same name.
pub(crate) mod twins {
    use retry_runtime::retry;

    #[retry(attempts = 4, name = "twin")]
    pub(crate) fn one() -> Result<u32, String> {
        Ok(1)
    }

    #[retry(attempts = 6, initial_delay = "20ms", name = "twin")]
    pub(crate) fn two() -> Result<u32, String> {
        Ok(2)
    }
}

/// The number of distinct names of functions.
pub(crate) fn names() -> usize {
    sites().into_iter().map(Site::name).collect::<BTreeSet<_>>().len()
}

pub(crate) fn site(name: &str) -> &'static Site {
    sites().into_iter().find(|site| site.name() == name).unwrap()
}

pub(crate) fn in_force(name: &str) -> String {
    site(name).policy().unwrap().to_string()
}

pub(crate) fn of(name: &str, key: &str, value: &str) -> Overrides {
    Overrides::from_pairs([(name, key, value)]).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn yaml(text: &str) -> Overrides {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The first line of a YAML reader's message, without the picture of the place.
pub(crate) fn wrong_yaml(text: &str) -> String {
    let error = serde_saphyr::from_str::<Overrides>(text).unwrap_err().to_string();
    error.lines().next().unwrap().to_owned()
}

pub(crate) fn wrong<const N: usize>(changes: [(&str, &str, &str); N]) -> String {
    Overrides::from_pairs(changes).unwrap_err().to_string()
}

pub(crate) fn vars<const N: usize>(vars: [(&str, &str); N]) -> Result<Overrides, String> {
    Overrides::from_vars("RETRY_", vars).map_err(|error| error.to_string())
}

pub(crate) async fn attempts_of_fetch() -> u32 {
    fetch().await.unwrap_err().attempts()
}
