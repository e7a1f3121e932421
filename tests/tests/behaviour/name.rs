//! `name`: what events call the function.

use retry_runtime::{Policy, Retrier, retry};

use crate::support::{Failure, heard, listen};

#[tokio::test(start_paused = true)]
async fn by_default_it_is_the_path_of_the_function() {
    #[retry(attempts = 2, on_retry = |event| names.push(event.name()))]
    async fn fetch(names: &mut Vec<&'static str>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, name = "billing.fetch", on_retry = |event| names.push(event.name()))]
    async fn named(names: &mut Vec<&'static str>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, on_retry = |event| names.push(event.name()))]
    async fn r#async(names: &mut Vec<&'static str>) -> Result<(), Failure> {
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
    assert!(heard().iter().all(|event| event.field("name") == Some("poller")));
}
