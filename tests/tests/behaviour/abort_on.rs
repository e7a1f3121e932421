//! `abort_on`: which failures end the call, whatever `retry_on` says.

use std::io;

use retry_runtime::{Reason, RetryError, retry};

use crate::support::{Calls, Failure};

#[tokio::test(start_paused = true)]
async fn it_wins_over_retry_on() {
    #[retry(retry_on = [matches(Failure::Busy(_) | Failure::Corrupt)], abort_on = [matches(Failure::Corrupt)])]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        match calls.make() {
            1 => Err(Failure::Busy(1)),
            _ => Err(Failure::Corrupt),
        }
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.reason()), (2, Reason::NotRetryable));
}

#[tokio::test(start_paused = true)]
async fn abort_on_alone_retries_all_other_failures() {
    #[retry(attempts = 3, abort_on = [pattern("permission"), when(|error| error.kind() == io::ErrorKind::NotFound)])]
    async fn fetch(calls: &Calls, error: fn() -> io::Error) -> io::Result<()> {
        calls.make();
        Err(error())
    }
    for (error, made) in [
        ((|| io::Error::other("permission denied")) as fn() -> io::Error, 1),
        (|| io::ErrorKind::NotFound.into(), 1),
        (|| io::ErrorKind::InvalidData.into(), 3),
    ] {
        let calls = Calls::new();
        fetch(&calls, error).await.unwrap_err();
        assert_eq!(calls.made(), made, "{}", error());
    }
}
