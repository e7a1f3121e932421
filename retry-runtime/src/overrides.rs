//! [`Overrides`]: policies changed by function name, while the program runs.
//!
//! Overrides are checked when they are created, so applying them cannot fail. They are read only
//! once something has failed, except where a call with a time limit begins.

mod env;
mod error;
mod layer;
mod names;
mod read;
mod scope;
mod text;

use core::fmt;
use core::future::Future;
use std::sync::{Arc, Mutex};

use retry_rules::file::Draft;
use retry_rules::{Field, Fields, Policy};
use serde::{Deserialize, Deserializer};

use crate::base::sync::unpoisoned;
use crate::event::Event;
use crate::observe;
use crate::site::registry;
use crate::site::{Origin, Site};

pub use error::OverridesError;
use layer::Checked;

/// Changes to policies, by the names of the functions with `#[retry]`.
///
/// A change names some keys; the others stay as compiled. The keys are those of
/// [`RetryConfig`](crate::RetryConfig) that set a [`Policy`]; a limit may be `unlimited`. The name
/// `"*"` means all functions; entries under a function's own name override it.
///
/// ```
/// use retry_runtime::{Attempts, Overrides, retry, sites};
///
/// #[retry(attempts = 5, jitter, name = "billing.fetch")]
/// async fn fetch() -> Result<u32, String> {
///     Ok(7)
/// }
///
/// let overrides: Overrides = serde_json::from_str(r#"{
///     "*": { "max_delay": "10s" },
///     "billing.fetch": { "attempts": 2 }
/// }"#).unwrap();
/// overrides.apply();
///
/// let site = sites().into_iter().find(|site| site.name() == "billing.fetch").unwrap();
/// assert_eq!(site.policy().unwrap().get_attempts(), Attempts::Limited(2));
/// assert_eq!(site.compiled().unwrap().get_attempts(), Attempts::Limited(5));
/// Overrides::clear();
/// assert!(!site.is_overridden());
/// ```
///
/// # What can be changed
///
/// - Every key of a policy, with two exceptions. The code that reads the clock, or begins a hedge,
///   is compiled in: a limit that needs a clock, such as `deadline`, can be changed if the function
///   has one, or if its policy is known only at runtime; `hedge` can be changed if it has one.
///   `"*"` changes them only where they exist, and `jitter_factor` only where the jitter has a
///   factor. See [the limits](crate::guide::overrides).
/// - `hedge` and `max_hedges` also if the delay follows a percentile (`hedge = p95`) or is known
///   only at runtime. `hedge: unlimited` ends the hedges.
/// - A policy known only at runtime (`policy = self.retries`), or that depends on generic
///   parameters: the keys are checked against each other, and laid over the policy of each call. A
///   policy that then breaks a rule is replaced with the nearest valid one, and
///   [`Warning::InvalidPolicy`](crate::Warning) reports that.
///
/// Everything else is code, and stays: the failures that are retried, the steps at the end, and each
/// [`Retrier`](crate::Retrier), whose policy is a value in the program.
///
/// A call in progress obeys the new policy from its next failure on; its deadline, its
/// timeout and its hedges stay as when it began.
///
/// # Errors
///
/// All or nothing: overrides with a mistake are not created, and those in force stay. In any serde
/// format whose reader tracks lines, a mistake is reported where it occurs: unknown functions and
/// keys, values that cannot be read, and policies that break the rules of the attribute. A function
/// is checked when it is read, so write `"*"` first.
///
/// ```
/// # use retry_runtime::{Overrides, retry};
/// # #[retry(name = "billing.pay")]
/// # async fn pay() -> Result<u32, String> { Ok(7) }
/// let error = serde_json::from_str::<Overrides>(r#"{ "billing.pai": { "attempts": 2 } }"#).unwrap_err();
/// assert!(error.to_string().starts_with("unknown function `billing.pai`: did you mean `billing.pay`?"));
/// ```
///
/// `Overrides::default()` changes nothing; applying it is the same as [`clear`](Self::clear).
#[derive(Clone, Default)]
pub struct Overrides(Arc<Checked>);

impl Overrides {
    /// Creates changes from function names, keys and values, as people write them: `2`, `true`,
    /// `unlimited`, `500ms`, and, as in the attribute, `linear(increment = 2s)`, `exponential(base
    /// = 1.5)`, `custom(500ms, 1s)`. A value that is displayed so, such as the number `2`, is one
    /// too.
    ///
    /// ```
    /// use retry_runtime::{Overrides, retry};
    ///
    /// #[retry(name = "shop.order")]
    /// async fn order() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// Overrides::from_pairs([("shop.order", "attempts", "2"), ("shop.order", "jitter", "full")])?.apply();
    /// # Overrides::clear();
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    ///
    /// # Errors
    /// Lists all mistakes: functions and keys that are unknown or cannot be changed, values that
    /// cannot be read, policies that break a rule.
    pub fn from_pairs<N, K, V>(
        changes: impl IntoIterator<Item = (N, K, V)>,
    ) -> Result<Self, OverridesError>
    where
        N: AsRef<str>,
        K: AsRef<str>,
        V: core::fmt::Display,
    {
        text::changes(changes).map(Self::new)
    }

    /// Reads changes from the environment: `RETRY_BILLING_FETCH_ATTEMPTS=2` for the
    /// function `billing.fetch`, `RETRY_ALL_ATTEMPTS=2` for all.
    ///
    /// In a variable, a name is written in capitals, with `_` for anything that is neither a letter
    /// nor a digit; the values are as in [`from_pairs`](Self::from_pairs). Each variable with the
    /// prefix must be one of these: if `RETRY_` is taken, choose
    /// [another](Self::from_env_with_prefix). Variables of the command `retry-workflow`, such as
    /// `RETRY_WORKFLOW_JOB`, are ignored.
    ///
    /// ```
    /// use retry_runtime::Overrides;
    ///
    /// let overrides = Overrides::from_env()?;
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    ///
    /// # Errors
    /// Lists all mistakes, each with its variable: the mistakes of
    /// [`from_pairs`](Self::from_pairs), and variables that could mean several functions.
    pub fn from_env() -> Result<Self, OverridesError> {
        Self::from_env_with_prefix("RETRY_")
    }

    /// Reads changes from environment variables, as [`from_env`](Self::from_env) does, with another
    /// prefix, including its final `_`: `MYAPP_RETRY_`.
    ///
    /// ```
    /// use retry_runtime::Overrides;
    ///
    /// let overrides = Overrides::from_env_with_prefix("MYAPP_RETRY_")?;
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`from_env`](Self::from_env).
    pub fn from_env_with_prefix(prefix: &str) -> Result<Self, OverridesError> {
        env::real(prefix).map(Self::new)
    }

    /// Reads changes as [`from_env`](Self::from_env) does, from the given variables instead of the
    /// variables of the process.
    ///
    /// ```
    /// use retry_runtime::{Overrides, retry};
    ///
    /// #[retry(name = "mail.send")]
    /// async fn send() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let vars = [("RETRY_MAIL_SEND_ATTEMPTS", "2"), ("HOME", "/")];
    /// let overrides = Overrides::from_vars("RETRY_", vars)?;
    ///
    /// let error = Overrides::from_vars("RETRY_", [("RETRY_MAIL_SEND_ATEMPTS", "2")]).unwrap_err();
    /// assert!(error.to_string().contains("did you mean `attempts`?"));
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`from_env`](Self::from_env).
    pub fn from_vars<N, V>(
        prefix: &str,
        vars: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, OverridesError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        env::given(prefix, vars).map(Self::new)
    }

    /// Returns these overrides with others on top: what `on_top` sets for a function, by its name
    /// or by `"*"`, takes precedence.
    ///
    /// ```
    /// use retry_runtime::{Overrides, retry};
    ///
    /// #[retry(name = "stock.count")]
    /// async fn count() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let file: Overrides = serde_json::from_str(r#"{ "stock.count": { "attempts": 7 } }"#).unwrap();
    /// file.merge(&Overrides::from_env()?)?.apply();
    /// # Overrides::clear();
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    ///
    /// # Errors
    /// Combined, they break a rule that neither breaks alone.
    pub fn merge(&self, on_top: &Self) -> Result<Self, OverridesError> {
        let both = self.0.merge(&on_top.0);
        both.map(Self::new).map_err(|unsuitable| OverridesError::of_functions(&unsuitable))
    }

    /// Replaces the changes in force with these: a function that they do not name obeys
    /// its compiled policy again.
    ///
    /// Reports an [`Event::Policy`](crate::Event) for each function whose policy changes. If
    /// several threads apply changes at the same time, the last one wins.
    ///
    /// ```
    /// use retry_runtime::Overrides;
    ///
    /// Overrides::from_pairs([("*", "attempts", "1")])?.apply(); // nothing is retried
    /// # Overrides::clear();
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    pub fn apply(&self) {
        let mut changed = Vec::new();
        let mut in_force = unpoisoned(IN_FORCE.lock());
        for site in registry::sites() {
            let draft = self.0.draft(site).copied();
            // A written field that is known only to calls is a change, whatever its value.
            let is_change = |draft: &Draft| {
                draft.policy() != layer::base(site)
                    || draft.written().intersects(layer::unknown(site))
            };
            if site.policy_override().set(draft.filter(is_change)) {
                changed.push(site);
            }
        }
        *in_force = Some(self.clone());
        // A listener may apply changes itself.
        drop(in_force);
        for site in changed {
            // The effective policy by now: if several threads apply changes at the same time, the
            // last of their events shows the final policy.
            let (policy, text) = (site.policy(), &*site.policy_text());
            observe::emit(&Event::Policy { name: Origin::from(site).name, policy, text });
        }
    }

    /// Returns the changes in force: those that were applied last. To add to them,
    /// [merge](Self::merge) them with others.
    ///
    /// ```
    /// use retry_runtime::Overrides;
    ///
    /// let hurried = Overrides::from_pairs([("*", "attempts", "1")])?;
    /// hurried.apply();
    /// assert_eq!(Overrides::in_force(), hurried);
    /// Overrides::clear();
    /// assert_eq!(Overrides::in_force(), Overrides::default());
    /// # Ok::<(), retry_runtime::OverridesError>(())
    /// ```
    pub fn in_force() -> Self {
        unpoisoned(IN_FORCE.lock()).clone().unwrap_or_default()
    }

    /// Makes all functions obey their compiled policies again.
    ///
    /// ```
    /// retry_runtime::Overrides::clear();
    /// ```
    pub fn clear() {
        Self::default().apply();
    }

    fn new(checked: Checked) -> Self {
        Self(Arc::new(checked))
    }
}

/// The overrides applied last. Locked while changes are being applied.
static IN_FORCE: Mutex<Option<Overrides>> = Mutex::new(None);

/// Two overrides are equal if they have the same effect on each function.
impl PartialEq for Overrides {
    fn eq(&self, other: &Self) -> bool {
        self.0.does_same(&other.0)
    }
}

impl<'de> Deserialize<'de> for Overrides {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::checked(deserializer).map(Self::new)
    }
}

/// Shows the functions that are changed, with their resulting policies as far as they are compiled.
impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policies = self.0.all().map(|(site, draft)| match site.compiled() {
            Some(compiled) => (site.name(), draft.written_over(*compiled).policy().to_string()),
            None => (site.name(), draft.to_string()),
        });
        f.write_str("Overrides ")?;
        f.debug_map().entries(policies).finish()
    }
}

/// Runs `future` with these changes on top of the effective ones, for the functions that it calls.
///
/// For one request among many: an impatient caller, a replay, a customer whose server is slow. An
/// inner scope overrides an outer one. Functions with `#[retry]` that are not async see it too; a
/// task spawned inside does not inherit it. [`Site::policy`](crate::Site::policy) shows the
/// policy outside of all scopes.
///
/// ```
/// use retry_runtime::{Overrides, RetryError, retry, with_overrides};
///
/// #[retry(attempts = 5, name = "stock.ask")]
/// async fn ask() -> Result<u32, RetryError<String>> {
///     Err("no answer".to_owned())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), retry_runtime::OverridesError> {
/// let hurried = Overrides::from_pairs([("stock.ask", "attempts", "1")])?;
/// let error = with_overrides(&hurried, ask()).await.unwrap_err();
/// assert_eq!(error.attempts(), 1);
/// # Ok(())
/// # }
/// ```
pub fn with_overrides<F: Future>(
    overrides: &Overrides,
    future: F,
) -> impl Future<Output = F::Output> + use<F> {
    scope::around(Arc::clone(&overrides.0), future)
}

/// Runs a closure with these changes on top of the effective ones, for the functions that it calls:
/// like [`with_overrides`], for synchronous code.
///
/// ```
/// use retry_runtime::{Overrides, retry, with_overrides_sync};
///
/// #[retry(attempts = 5, name = "stock.look")]
/// fn look() -> Result<u32, String> {
///     Err("nothing is there".to_owned())
/// }
///
/// let hurried = Overrides::from_pairs([("stock.look", "attempts", "1")])?;
/// assert!(with_overrides_sync(&hurried, look).is_err()); // at once
/// # Ok::<(), retry_runtime::OverridesError>(())
/// ```
pub fn with_overrides_sync<R>(overrides: &Overrides, run: impl FnOnce() -> R) -> R {
    scope::around_sync(Arc::clone(&overrides.0), run)
}

/// The policy that a call obeys now, if it differs from the compiled `policy`.
pub(crate) fn effective_policy(origin: Origin<'_>, policy: &Policy) -> Option<Policy> {
    let site = origin.site?;
    let draft = site.policy_override().draft();
    // The changes to a policy that is completely compiled were checked together with it.
    let is_compiled = layer::unknown(site).is_empty();
    let in_force = draft
        .map(|draft| if is_compiled { draft.policy() } else { layer::over(site, policy, &draft) });
    scope::over(site, in_force.as_ref().unwrap_or(policy)).or(in_force)
}

/// Returns whether an override sets a time limit, which the policy of the call may lack.
pub(crate) fn set_limit(site: &'static Site) -> bool {
    const LIMITS: Fields =
        Fields::from_slice(&[Field::Timeout, Field::Deadline, Field::MaxElapsed]);

    let draft = site.policy_override().draft();
    draft.is_some_and(|draft| draft.written().intersects(LIMITS)) || scope::sets(site, LIMITS)
}
