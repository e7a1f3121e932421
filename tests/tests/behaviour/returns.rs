//! The return types of annotated functions: one test for each row of the table.

use std::error::Error;

use retry_runtime::{Reason, RetryError, retry};

use crate::support::{Calls, Failure, secs};

#[tokio::test(start_paused = true)]
async fn a_result_is_the_last_error_itself() {
    #[retry]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    assert_eq!(fetch(&Calls::new()).await, Err(Failure::Busy(3)));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_can_do_nothing_is_enough() {
    struct Mute(u32);
    #[retry(attempts = 2)]
    async fn fetch(calls: &Calls) -> Result<(), Mute> {
        Err(Mute(calls.make()))
    }
    assert!(matches!(fetch(&Calls::new()).await, Err(Mute(2))));
}

#[tokio::test(start_paused = true)]
async fn a_retry_error_has_reason_attempts_waits_and_source() {
    #[retry]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        let inner: Result<(), Failure> = Err(Failure::Busy(calls.make()));
        inner?;
        Ok(())
    }
    let error = fetch(&Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts(), error.waited()), (Reason::Attempts, 3, secs(3)));
    let source = error.source().and_then(|source| source.downcast_ref::<Failure>());
    assert_eq!(source, Some(&Failure::Busy(3)));
    assert_eq!(error.into_last(), Some(Failure::Busy(3)));
}

#[tokio::test(start_paused = true)]
async fn a_retry_error_by_its_path_is_one_too() {
    #[retry(attempts = 2)]
    async fn fetch() -> std::result::Result<(), retry_runtime::RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch().await.unwrap_err().attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_option_is_none() {
    #[retry]
    async fn find(calls: &Calls, at: u32) -> Option<u32> {
        let call = calls.make();
        (call == at).then_some(call)
    }
    let calls = Calls::new();
    assert_eq!(find(&calls, 9).await, None);
    assert_eq!(calls.made(), 3);
    assert_eq!(find(&Calls::new(), 2).await, Some(2));
}

#[tokio::test(start_paused = true)]
async fn anything_else_with_ok_is_the_last_value() {
    #[retry(retry_on = [ok(String::is_empty)])]
    async fn title(calls: &Calls, at: u32) -> String {
        if calls.make() == at { "found".to_owned() } else { String::new() }
    }
    assert_eq!(title(&Calls::new(), 3).await, "found");
    assert_eq!(title(&Calls::new(), 9).await, "");
}

#[tokio::test(start_paused = true)]
async fn an_alias_of_a_result_is_one() {
    type Outcome<T> = Result<T, Failure>;
    #[retry(attempts = 2, timeout = "1s")]
    async fn own(calls: &Calls) -> Outcome<()> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 2)]
    async fn any(calls: &Calls) -> anyhow::Result<()> {
        anyhow::bail!("call {}", calls.make())
    }
    assert_eq!(own(&Calls::new()).await, Err(Failure::Busy(2)));
    assert_eq!(any(&Calls::new()).await.unwrap_err().to_string(), "call 2");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_borrowing_type_comes_out_as_it_is() {
    #[retry(attempts = 2)]
    async fn parse<'a>(calls: &Calls, text: &'a str) -> Result<u32, &'a str> {
        calls.make();
        text.parse().map_err(|_| text)
    }
    assert_eq!(parse(&Calls::new(), "x").await, Err("x"));
    assert_eq!(parse(&Calls::new(), "7").await, Ok(7));
}
