//! Arguments by value: borrowed by each attempt, or cloned for it.

use retry_runtime::retry;

use crate::support::{Calls, Failure};

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
async fn each_attempt_gets_a_clone_of_what_its_body_consumes() {
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
async fn what_the_body_only_borrows_is_not_cloned() {
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

#[tokio::test(start_paused = true)]
async fn what_is_not_cloned_is_one_value_for_all_attempts() {
    #[retry(attempts = 3)]
    async fn push(calls: &Calls, mut list: Vec<u32>, seen: &mut Vec<usize>) -> Result<(), Failure> {
        list.push(4);
        seen.push(list.len());
        Err(Failure::Busy(calls.make()))
    }
    let mut seen = Vec::new();
    push(&Calls::new(), Vec::new(), &mut seen).await.unwrap_err();
    assert_eq!(seen, [1, 2, 3]);
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
