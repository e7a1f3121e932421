//! Arguments by value: borrowed by each attempt, cloned for it, or carried from one to the next.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use retry_runtime::{RetryError, retry};

use crate::support::{Calls, Failure};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[derive(Debug)]
struct Body<'a> {
    bytes: Vec<u8>,
    clones: &'a Calls,
}

impl Clone for Body<'_> {
    fn clone(&self) -> Self {
        self.clones.make();
        Self { bytes: self.bytes.clone(), clones: self.clones }
    }
}

fn consume(body: Body<'_>) -> Vec<u8> {
    body.bytes
}

#[tokio::test(start_paused = true)]
async fn each_attempt_gets_a_clone_of_consumed_captures() {
    #[retry(attempts = 3, clone(body))]
    async fn send(calls: &Calls, body: Body<'_>) -> Result<(), Failure> {
        assert_eq!(consume(body), [1, 2, 3]);
        Err(Failure::Busy(calls.make()))
    }
    let (calls, clones) = (Calls::new(), Calls::new());
    send(&calls, Body { bytes: vec![1, 2, 3], clones: &clones }).await.unwrap_err();
    assert_eq!((calls.made(), clones.made()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn borrowed_captures_are_not_cloned() {
    #[retry(attempts = 3)]
    async fn send(calls: &Calls, body: Body<'_>) -> Result<(), Failure> {
        assert_eq!(body.bytes, [1, 2, 3]);
        Err(Failure::Busy(calls.make()))
    }
    let (calls, clones) = (Calls::new(), Calls::new());
    send(&calls, Body { bytes: vec![1, 2, 3], clones: &clones }).await.unwrap_err();
    assert_eq!((calls.made(), clones.made()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_an_attempt_changes_is_whole_for_the_next() {
    #[retry(attempts = 3, clone(list))]
    async fn push(calls: &Calls, mut list: Vec<u32>) -> Result<(), Failure> {
        list.push(4);
        assert_eq!(list, [1, 2, 3, 4]);
        drop(list);
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    push(&calls, vec![1, 2, 3]).await.unwrap_err();
    assert_eq!(calls.made(), 3);
}

#[test]
fn a_function_that_is_not_async_clones_too() {
    #[retry(attempts = 3, backoff = fixed, initial_delay = "1ms", clone(first, second))]
    fn join(calls: &Calls, first: String, second: String) -> Result<String, Failure> {
        match calls.make() {
            3 => Ok(first + &second),
            call => {
                drop((first, second));
                Err(Failure::Busy(call))
            }
        }
    }
    assert_eq!(join(&Calls::new(), "a".into(), "b".into()).unwrap(), "ab");
}

/// Defines one function for each form that a function may have, and calls them all. Each attempt
/// adds a parameter to its URL and fails.
macro_rules! attempts_of_each_form {
    ($option:ident) => {{
        type Outcome = Result<(), Failure>;

        fn attempt(url: &mut String, seen: &mut Vec<String>) -> Outcome {
            url.push_str("&v=1");
            seen.push(url.clone());
            Err(Failure::Busy(0))
        }

        #[retry(attempts = 3, $option(url))]
        async fn of_async(mut url: String, seen: &mut Vec<String>) -> Outcome {
            attempt(&mut url, seen)?;
            Ok(())
        }

        #[retry(attempts = 3, $option(url))]
        async fn without_an_early_exit(mut url: String, seen: &mut Vec<String>) -> Outcome {
            attempt(&mut url, seen)
        }

        #[retry(attempts = 3, $option(url))]
        async fn of_pattern((mut url, add): (String, u8), seen: &mut Vec<String>) -> Outcome {
            assert_eq!(add, 1);
            attempt(&mut url, seen)?;
            Ok(())
        }

        #[retry(attempts = 3, $option(url), timeout = "1m")]
        async fn in_time(
            mut url: String,
            seen: &mut Vec<String>,
        ) -> Result<(), RetryError<Failure>> {
            attempt(&mut url, seen)
        }

        #[retry(attempts = 3, backoff = fixed, initial_delay = "0s", $option(url))]
        fn of_sync(mut url: String, seen: &mut Vec<String>) -> Outcome {
            attempt(&mut url, seen)?;
            Ok(())
        }

        #[retry(attempts = 3, $option(url))]
        fn of_boxed(mut url: String, seen: &mut Vec<String>) -> BoxFuture<'_, Outcome> {
            Box::pin(async move { attempt(&mut url, seen) })
        }

        struct Client;

        impl Client {
            #[retry(attempts = 3, $option(url))]
            async fn method(&self, mut url: String, seen: &mut Vec<String>) -> Outcome {
                attempt(&mut url, seen)?;
                Ok(())
            }
        }

        #[async_trait]
        trait Fetch {
            async fn fetch(&self, url: String, seen: &mut Vec<String>) -> Outcome;
            async fn fetch_pattern(&self, url: (String, u8), seen: &mut Vec<String>) -> Outcome;
            async fn fetch_in_place(&self, url: String, seen: &mut Vec<String>) -> Outcome;
        }

        #[async_trait]
        impl Fetch for Client {
            #[retry(attempts = 3, $option(url))]
            async fn fetch(&self, mut url: String, seen: &mut Vec<String>) -> Outcome {
                attempt(&mut url, seen)?;
                Ok(())
            }

            #[retry(attempts = 3, $option(url))]
            async fn fetch_pattern(
                &self,
                (mut url, add): (String, u8),
                seen: &mut Vec<String>,
            ) -> Outcome {
                assert_eq!(add, 1);
                attempt(&mut url, seen)?;
                Ok(())
            }

            #[retry(attempts = 3, $option(url))]
            async fn fetch_in_place(&self, mut url: String, seen: &mut Vec<String>) -> Outcome {
                attempt(&mut url, seen)
            }
        }

        let url = || "/?a".to_owned();
        let mut seen = <[Vec<String>; 10]>::default();
        of_async(url(), &mut seen[0]).await.unwrap_err();
        without_an_early_exit(url(), &mut seen[1]).await.unwrap_err();
        of_pattern((url(), 1), &mut seen[2]).await.unwrap_err();
        in_time(url(), &mut seen[3]).await.unwrap_err();
        of_sync(url(), &mut seen[4]).unwrap_err();
        of_boxed(url(), &mut seen[5]).await.unwrap_err();
        Client.method(url(), &mut seen[6]).await.unwrap_err();
        Client.fetch(url(), &mut seen[7]).await.unwrap_err();
        Client.fetch_pattern((url(), 1), &mut seen[8]).await.unwrap_err();
        Client.fetch_in_place(url(), &mut seen[9]).await.unwrap_err();
        seen
    }};
}

#[tokio::test(start_paused = true)]
async fn each_attempt_begins_with_the_value_of_the_caller_if_it_is_cloned() {
    for seen in attempts_of_each_form!(clone) {
        assert_eq!(seen, ["/?a&v=1", "/?a&v=1", "/?a&v=1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn carried_captures_keep_their_state_between_attempts() {
    for seen in attempts_of_each_form!(carry) {
        assert_eq!(seen, ["/?a&v=1", "/?a&v=1&v=1", "/?a&v=1&v=1&v=1"]);
    }
}

/// Defines functions whose attempts each send one byte of a slice and fail.
macro_rules! bytes_sent {
    ($option:ident) => {{
        #[retry(attempts = 3, $option(rest))]
        async fn send(mut rest: &[u8], sent: &mut Vec<u8>) -> Result<(), Failure> {
            sent.extend(rest.split_off_first());
            Err(Failure::Busy(0))
        }

        #[async_trait]
        trait Sends {
            async fn send(&self, rest: &[u8], sent: &mut Vec<u8>) -> Result<(), Failure>;
        }

        #[async_trait]
        impl Sends for () {
            #[retry(attempts = 3, $option(rest))]
            async fn send(&self, mut rest: &[u8], sent: &mut Vec<u8>) -> Result<(), Failure> {
                sent.extend(rest.split_off_first());
                Err(Failure::Busy(0))
            }
        }

        let mut sent = <[Vec<u8>; 2]>::default();
        send(b"abc", &mut sent[0]).await.unwrap_err();
        ().send(b"abc", &mut sent[1]).await.unwrap_err();
        sent
    }};
}

#[tokio::test(start_paused = true)]
async fn slice_that_an_attempt_advances_is_whole_for_the_next_if_it_is_cloned() {
    assert_eq!(bytes_sent!(clone), [b"aaa", b"aaa"]);
}

#[tokio::test(start_paused = true)]
async fn slice_that_an_attempt_advances_goes_on_if_it_is_carried() {
    assert_eq!(bytes_sent!(carry), [b"abc", b"abc"]);
}

#[tokio::test(start_paused = true)]
async fn single_attempt_may_change_its_arguments() {
    #[retry(attempts = 1, timeout = "1s")]
    async fn once(
        mut url: String,
        (mut count, _): (u32, u32),
    ) -> Result<String, RetryError<Failure>> {
        count += 1;
        url.push_str(&count.to_string());
        Ok(url.clone())
    }
    assert_eq!(once("/".to_owned(), (1, 2)).await.unwrap(), "/2");
}
