//! The world in which a script is played through one way in, and the observations of it.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, Once};
use std::task::{Context, Poll};
use std::time::Duration;

use retry_runtime::{
    CircuitBreaker, Class, Event, Interrupted, Reason, RetryError, RetryQuota, Snapshot, State,
    on_event,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::script::{Fails, Other, Outcome, Script, WAIT_OF_OTHERS};

thread_local! {
    /// The number of calls of predicates on this thread.
    static JUDGED: Cell<u32> = const { Cell::new(0) };
    /// The waits of the calls on this thread: those through a hold have a random part.
    static WAITS: RefCell<Vec<Duration>> = const { RefCell::new(Vec::new()) };
}

/// Records the waits of all calls.
fn record_waits() {
    static RECORDS: Once = Once::new();

    RECORDS.call_once(|| {
        on_event(|event| {
            if let Event::Retry { wait, .. } | Event::AwaitsBreaker { wait, .. } = event {
                WAITS.with_borrow_mut(|waits| waits.push(*wait));
            }
        });
    });
}

pub(super) fn is_picked(error: &io::Error) -> bool {
    JUDGED.set(JUDGED.get() + 1);
    is_picked_too(error)
}

/// Decides as [`is_picked`] does, without counting: beside a list, the number of calls depends on the
/// order of the matchers.
pub(super) fn is_picked_too(error: &io::Error) -> bool {
    error.to_string().contains('5') || error.kind() == io::ErrorKind::InvalidData
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what a predicate gets")]
pub(super) fn is_unfinished(value: &u32) -> bool {
    JUDGED.set(JUDGED.get() + 1);
    *value == 0
}

pub(super) struct World {
    pub(super) script: Script,
    pub(super) breaker: Arc<CircuitBreaker>,
    pub(super) quota: Arc<RetryQuota>,
    begun: Instant,
    attempts: Mutex<Vec<Duration>>,
    running: AtomicUsize,
    /// The state after a call has returned and before its future is dropped.
    at_end: Mutex<Option<Seen>>,
}

impl World {
    fn new(script: &Script) -> Arc<Self> {
        record_waits();
        WAITS.with_borrow_mut(Vec::clear);
        JUDGED.set(0);
        let protection = script.protected();
        Arc::new(Self {
            script: script.clone(),
            breaker: Arc::new(CircuitBreaker::new("world", protection.breaker())),
            quota: Arc::new(RetryQuota::new("world", protection.quota())),
            begun: Instant::now(),
            attempts: Mutex::default(),
            running: AtomicUsize::new(0),
            at_end: Mutex::default(),
        })
    }

    pub(super) async fn attempt<E: Fails>(&self) -> Result<u32, E> {
        struct Running<'w>(&'w AtomicUsize);

        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Relaxed);
            }
        }

        let made = {
            let mut attempts = self.attempts.lock().unwrap();
            attempts.push(self.begun.elapsed());
            attempts.len() - 1
        };
        self.running.fetch_add(1, Relaxed);
        let _running = Running(&self.running);
        let step = self.script.attempts[made % self.script.attempts.len()];
        match step.takes {
            Some(Duration::ZERO) => {}
            Some(takes) => sleep(takes).await,
            None => pending().await,
        }
        match step.outcome {
            Outcome::Value(value) => Ok(value),
            Outcome::Panic => resume_unwind(Box::new("a bug in the body")),
            failure => Err(E::new(failure)),
        }
    }

    /// Makes the failing calls of other callers.
    async fn fail_for_others(self: Arc<Self>) {
        for Other { at, is_limited } in &self.script.others {
            tokio::time::sleep_until(self.begun + *at).await;
            match self.breaker.try_acquire() {
                Ok(permit) if *is_limited => permit.rate_limited(WAIT_OF_OTHERS),
                Ok(permit) => permit.failure(),
                Err(_) => {}
            }
        }
    }

    fn seen(&self) -> Seen {
        Seen {
            running: self.running.load(Relaxed),
            judged: JUDGED.get(),
            tokens: self.quota.available(),
            breaker: BreakerSeen::of(&self.breaker.snapshot()),
        }
    }

    /// Returns the number of retries that the share still allows, if there is one.
    fn share_left(&self) -> Option<usize> {
        let retries = || {
            self.quota.reset();
            self.quota.try_acquire(Class::empty())
        };
        self.script.protected().shared.then(|| (0..20).map_while(|_| retries()).count())
    }
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallResult {
    Returned(u32),
    Failed {
        reason: Reason,
        attempts: u32,
        waited: Duration,
        last: Last,
    },
    Panicked,
    /// The caller dropped it.
    Dropped,
}

/// The last failure of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Last {
    Error(String),
    Value,
    Timeout,
    Deadline,
    Rejected,
    Nothing,
}

impl Last {
    fn of<E: Fails>(error: &RetryError<E>) -> Self {
        match error.interrupted() {
            Some(Interrupted::Timeout { .. }) => Self::Timeout,
            Some(Interrupted::Deadline { .. }) => Self::Deadline,
            Some(Interrupted::CircuitOpen { .. } | Interrupted::Held { .. }) => Self::Rejected,
            Some(_) => Self::Value,
            None => error.last().map_or(Self::Nothing, |last| Self::Error(last.to_string())),
        }
    }
}

impl CallResult {
    fn of<E: Fails>(result: Result<u32, RetryError<E>>) -> Self {
        match result {
            Ok(value) => Self::Returned(value),
            Err(error) => Self::Failed {
                reason: error.reason(),
                attempts: error.attempts(),
                waited: error.waited(),
                last: Last::of(&error),
            },
        }
    }
}

/// The observable state of a world.
#[derive(Clone, Debug)]
struct Seen {
    running: usize,
    judged: u32,
    tokens: u32,
    breaker: BreakerSeen,
}

/// The state and the counters of a breaker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BreakerSeen {
    pub(super) state: State,
    pub(super) remaining: Duration,
    pub(super) held_for: Duration,
    /// Zero unless closed: late reports of an earlier period still change the count.
    pub(super) failures_in_a_row: u32,
    /// Calls, failures and slow calls.
    pub(super) window: (u64, u64, u64),
    pub(super) probes: usize,
    pub(super) probe_successes: u32,
    pub(super) reopenings: u32,
    pub(super) successes: Option<u64>,
    pub(super) failures: u64,
    pub(super) slow: u64,
    pub(super) forgiven: u64,
    pub(super) rejected: u64,
    pub(super) held: u64,
}

impl BreakerSeen {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            state: snapshot.state,
            remaining: snapshot.remaining,
            held_for: snapshot.held,
            failures_in_a_row: if snapshot.state == State::Closed {
                snapshot.consecutive_failures
            } else {
                0
            },
            window: (snapshot.calls, snapshot.failures, snapshot.slow_calls),
            probes: snapshot.probes as usize,
            probe_successes: snapshot.probe_successes,
            reopenings: snapshot.reopenings,
            successes: snapshot.outcomes.successes,
            failures: snapshot.outcomes.failures,
            slow: snapshot.outcomes.slow,
            forgiven: snapshot.outcomes.forgiven,
            rejected: snapshot.outcomes.rejected,
            held: snapshot.outcomes.held,
        }
    }
}

/// The end of a call and the state after it, read before the future is dropped if the call returned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) result: CallResult,
    pub(super) at: Duration,
    /// The start of each attempt since the script began.
    pub(super) attempts: Vec<Duration>,
    /// The number of calls of predicates since the script began.
    pub(super) judged: u32,
    /// The number of running attempts.
    pub(super) running: usize,
    pub(super) tokens: u32,
    pub(super) breaker: BreakerSeen,
}

/// The observations of one script.
#[derive(Debug, PartialEq)]
pub(super) struct Played {
    pub(super) calls: Vec<Ended>,
    pub(super) share_left: Option<usize>,
    /// All waits, in order.
    pub(super) waits: Vec<Duration>,
}

pub(super) type Playing<'a> = Pin<Box<dyn Future<Output = Played> + 'a>>;

/// Awaits a call, and reads the state before the future is dropped. Catches a panic around the poll,
/// unless the script lets it unwind further.
pub(super) async fn ended<E: Fails>(
    world: &World,
    call: impl Future<Output = Result<u32, RetryError<E>>>,
) -> CallResult {
    let mut call = pin!(call);
    let result = poll_fn(|cx| {
        if world.script.unwinds {
            return call.as_mut().poll(cx).map(Some);
        }
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    });
    match result.await {
        Some(result) => {
            *world.at_end.lock().unwrap() = Some(world.seen());
            CallResult::of(result)
        }
        None => CallResult::Panicked,
    }
}

/// A call that its own panic drops, like a call that a task owns.
struct Owned<F>(Option<Pin<Box<F>>>);

impl<F: Future<Output = CallResult>> Future for Owned<F> {
    type Output = CallResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallResult> {
        let Some(mut call) = self.0.take() else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(move || {
            let polled = call.as_mut().poll(cx);
            (call, polled)
        }));
        match polled {
            Ok((call, polled)) => {
                self.0 = Some(call);
                polled
            }
            Err(_) => Poll::Ready(CallResult::Panicked),
        }
    }
}

/// A task that ends with the script.
struct Beside(JoinHandle<()>);

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Plays all calls of the script through one way in.
pub(super) fn play<'a, Fut: Future<Output = CallResult> + 'a>(
    script: &'a Script,
    door: impl Fn(Arc<World>) -> Fut + 'a,
) -> Playing<'a> {
    Box::pin(async move {
        let world = World::new(script);
        let _others = Beside(tokio::spawn(world.clone().fail_for_others()));
        let mut calls = Vec::new();
        for call in &script.calls {
            sleep(call.pause).await;
            let result = timeout(call.patience, Owned(Some(Box::pin(door(world.clone()))))).await;
            let at_end = world.at_end.lock().unwrap().take();
            let Seen { running, judged, tokens, breaker } = at_end.unwrap_or_else(|| world.seen());
            calls.push(Ended {
                result: result.unwrap_or(CallResult::Dropped),
                at: world.begun.elapsed(),
                attempts: world.attempts.lock().unwrap().clone(),
                judged,
                running,
                tokens,
                breaker,
            });
        }
        let share_left = world.share_left();
        let waits = WAITS.with_borrow_mut(std::mem::take);
        Played { calls, share_left, waits }
    })
}
