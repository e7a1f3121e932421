//! The functions call this instead of a network client: it answers by script.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A service with scripted answers, which records its requests.
#[derive(Debug)]
pub struct Remote<T, E> {
    began: Instant,
    state: Mutex<State<T, E>>,
}

#[derive(Debug)]
struct State<T, E> {
    script: VecDeque<Answer<T, E>>,
    log: Vec<(u128, String)>,
}

/// The fate of a request.
#[derive(Clone, Debug)]
pub enum Answer<T, E> {
    /// It succeeds.
    Gives(T),
    /// It fails.
    Fails(E),
    /// No answer ever comes.
    Hangs,
}

impl<T, E> Remote<T, E> {
    /// Creates a service with these answers, one for each request.
    pub fn new(script: impl IntoIterator<Item = Answer<T, E>>) -> Self {
        let state = State { script: script.into_iter().collect(), log: Vec::new() };
        Self { began: Instant::now(), state: Mutex::new(state) }
    }

    /// Makes a request.
    ///
    /// # Errors
    /// The error in the script.
    ///
    /// # Panics
    /// If the script has no answer left, and a day after a request that hangs.
    pub async fn call(&self, request: impl Into<String>) -> Result<T, E> {
        match self.next(request.into()) {
            Answer::Gives(value) => Ok(value),
            Answer::Fails(error) => Err(error),
            Answer::Hangs => {
                sleep(Duration::from_hours(24)).await;
                panic!("nobody cut off a request without an answer")
            }
        }
    }

    /// Makes a request from a function that is not async.
    ///
    /// # Errors
    /// The error in the script.
    ///
    /// # Panics
    /// If the script has no answer left, and if the request hangs.
    pub fn call_blocking(&self, request: impl Into<String>) -> Result<T, E> {
        match self.next(request.into()) {
            Answer::Gives(value) => Ok(value),
            Answer::Fails(error) => Err(error),
            Answer::Hangs => panic!("a thread that waits for ever helps no test"),
        }
    }

    /// Returns the requests, each with the milliseconds since the start.
    pub fn log(&self) -> Vec<(u128, String)> {
        self.state().log.clone()
    }

    /// Returns the milliseconds since the start.
    pub fn now(&self) -> u128 {
        self.began.elapsed().as_millis()
    }

    fn next(&self, request: String) -> Answer<T, E> {
        let now = self.now();
        let mut state = self.state();
        state.log.push((now, request));
        state.script.pop_front().expect("the script has an answer to each request")
    }

    fn state(&self) -> MutexGuard<'_, State<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl<T, E> Remote<T, E> {
    /// The times of the requests, in milliseconds since the start.
    pub(crate) fn times(&self) -> Vec<u128> {
        self.log().into_iter().map(|(at, _)| at).collect()
    }

    /// The requests, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.log().into_iter().map(|(_, request)| request).collect()
    }
}

/// A duration of this many milliseconds.
#[cfg(test)]
pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
