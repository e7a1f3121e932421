//! `name`: the name of the function in events.

use std::sync::Arc;

use retry_runtime::{BreakerConfig, CircuitBreaker, Interrupted, Policy, Retrier, retry};

use crate::support::{Failure, listen, take_events};

#[tokio::test(start_paused = true)]
async fn by_default_it_is_the_path_of_the_function() {
    #[retry(attempts = 2, on_retry = |event| names.push(event.name().to_owned()))]
    async fn fetch(names: &mut Vec<String>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, name = "billing.fetch", on_retry = |event| names.push(event.name().to_owned()))]
    async fn named(names: &mut Vec<String>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, on_retry = |event| names.push(event.name().to_owned()))]
    async fn r#async(names: &mut Vec<String>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let mut names = Vec::new();
    fetch(&mut names).await.unwrap_err();
    named(&mut names).await.unwrap_err();
    r#async(&mut names).await.unwrap_err();
    assert_eq!(names, ["behaviour::name::fetch", "billing.fetch", "behaviour::name::async"]);
}

#[tokio::test(start_paused = true)]
async fn a_retrier_has_one_too() {
    listen();
    let _ = Retrier::new(Policy::new()).name("poller").run(|| async { Err::<(), _>("down") }).await;
    assert!(take_events().iter().all(|event| event.field("name") == Some("poller")));
}

#[tokio::test(start_paused = true)]
async fn names_can_be_made_while_the_program_runs() {
    listen();
    let host = "example.org";
    let breaker = Arc::new(CircuitBreaker::named(host.to_owned(), BreakerConfig::new()));
    breaker.force_open();
    let retrier = Retrier::new(Policy::new()).name(format!("get {host}")).breaker(breaker);
    let error = retrier.run(|| async { Err::<(), _>("down") }).await.unwrap_err();
    let Some(Interrupted::CircuitOpen { breaker, .. }) = error.interrupted() else {
        panic!("{error:?}");
    };
    assert_eq!(breaker, "example.org");
    let heard = take_events();
    assert_eq!(heard[0].field("breaker"), Some("example.org"));
    assert_eq!(heard[1].field("name"), Some("get example.org"));
}
