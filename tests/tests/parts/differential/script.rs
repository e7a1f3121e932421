//! Scripts: calls, the outcomes of their attempts, and their breaker and quota.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::time::Duration;

use proptest::prelude::*;
use retry_runtime::http::StatusError;
use retry_runtime::{
    Backoff, BreakerConfig, Class, Classify, HalfOpen, Policy, QuotaConfig, classify,
};

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) const GROWING: Policy = Policy::new().attempts(4).first_delay(ms(100));
pub(super) const BUDGETED: Policy = Policy::new()
    .attempts(6)
    .backoff(Backoff::Fixed)
    .initial_delay(ms(500))
    .budget(ms(2_000))
    .max_elapsed(ms(5_000));
pub(super) const TIMED: Policy =
    Policy::new().attempts(4).initial_delay(ms(200)).timeout(ms(2_000));
pub(super) const BOUNDED: Policy =
    Policy::new().attempts(5).backoff(Backoff::Fibonacci).deadline(ms(6_000));
pub(super) const ENDLESS: Policy = Policy::new()
    .unlimited()
    .backoff(Backoff::Custom(&[ms(100), ms(700)]))
    .max_delay(ms(900))
    .budget(ms(4_000))
    .timeout(ms(1_000))
    .deadline(ms(9_000));
pub(super) const TWICE: Policy = Policy::new().attempts(2).timeout(ms(1_200)).deadline(ms(2_200));
pub(super) const HEDGED: Policy =
    Policy::new().attempts(4).initial_delay(ms(200)).timeout(ms(2_000)).hedge(ms(400));
pub(super) const CROWDED: Policy = Policy::new()
    .attempts(3)
    .initial_delay(ms(150))
    .deadline(ms(4_000))
    .hedge(ms(250))
    .max_hedges(3);
pub(super) const PATIENT: Policy =
    Policy::new().attempts(3).initial_delay(ms(300)).hedge(ms(350)).max_hedges(2);
pub(super) const MODEST: Policy =
    Policy::new().attempts(4).initial_delay(ms(400)).max_retry_after(ms(1_000));
pub(super) const POLICIES: [Policy; 10] =
    [GROWING, BUDGETED, TIMED, BOUNDED, ENDLESS, TWICE, MODEST, HEDGED, CROWDED, PATIENT];

/// The matchers of a retrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Matching {
    Everything,
    Listed,
    When,
    ListedAndWhen,
    Values,
}

/// The type of the errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Io,
    Erased,
    Text,
    Classified,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// A value; 0 is one that may be retried.
    Value(u32),
    Refused,
    TimedOut,
    Status(u16),
    /// A rate limit with a wait.
    Throttled,
    /// A server error with a wait.
    Overloaded,
    Corrupt,
    Panic,
}

impl Outcome {
    /// The wait that the server asks for.
    pub(super) const fn asked_wait(self) -> Option<Duration> {
        match self {
            Self::Throttled => Some(ms(1_200)),
            Self::Overloaded => Some(ms(700)),
            _ => None,
        }
    }
}

/// The wait that a server asks of other callers.
pub(super) const WAIT_OF_OTHERS: Duration = ms(1_600);

/// The behaviour of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) outcome: Outcome,
    /// `None`: it hangs.
    pub(super) takes: Option<Duration>,
}

/// The setting that opens the breaker.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opens {
    /// Consecutive failures.
    Failures(u32),
    /// Failures of at least half of the calls.
    Rate { minimum: u32, window: u32 },
    /// At least half of the calls being slow, or consecutive failures.
    Slow { longer_than: Duration, minimum: u32, window: u32, failures: Option<u32> },
    /// Consecutive failures; a call that is dropped after this time is one.
    Abandoned { after: Duration, failures: u32 },
}

/// The breaker and the quota.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protection {
    pub(super) opens: Opens,
    /// The open time.
    pub(super) open: Duration,
    pub(super) half_open_requests: u32,
    pub(super) success_threshold: u32,
    /// The time of a stage, if the breaker recovers gradually.
    pub(super) stage: Option<Duration>,
    /// The longest hold, if the breaker may hold calls.
    pub(super) hold: Option<Duration>,
    pub(super) tokens: u32,
    /// Limits retries to a share of the calls as well.
    pub(super) shared: bool,
}

impl Protection {
    /// The breaker and the quota of a world whose calls use neither.
    const UNUSED: Self = Self {
        opens: Opens::Failures(1),
        open: ms(1),
        half_open_requests: 1,
        success_threshold: 1,
        stage: None,
        hold: None,
        tokens: 10,
        shared: false,
    };

    pub(super) fn breaker(&self) -> BreakerConfig {
        let config = BreakerConfig::new()
            .timeout(self.open)
            .half_open_requests(self.half_open_requests)
            .success_threshold(self.success_threshold);
        let config = match self.stage {
            Some(stage) => config.half_open(HalfOpen::Gradual).stage_time(stage),
            None => config,
        };
        let config = self.hold.map_or(config, |hold| config.hold(hold));
        match self.opens {
            Opens::Failures(failures) => config.failure_threshold(failures),
            Opens::Rate { minimum, window } => {
                config.failure_rate(0.5).minimum_calls(minimum).window_calls(window)
            }
            Opens::Slow { longer_than, minimum, window, failures } => {
                let config =
                    config.slow_calls(longer_than, 0.5).minimum_calls(minimum).window_calls(window);
                failures.map_or(config, |failures| config.failure_threshold(failures))
            }
            Opens::Abandoned { after, failures } => {
                config.failure_threshold(failures).abandoned_after(after)
            }
        }
    }

    pub(super) fn quota(&self) -> QuotaConfig {
        let config = QuotaConfig::new().capacity(self.tokens);
        if self.shared { config.share(0.2) } else { config }
    }
}

/// A call: the pause before it, and the time after which its caller drops it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) pause: Duration,
    pub(super) patience: Duration,
}

/// A failing call by another caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    pub(super) at: Duration,
    /// `true` if its server asks for [`WAIT_OF_OTHERS`].
    pub(super) is_limited: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) policy: usize,
    pub(super) matching: Matching,
    pub(super) kind: Kind,
    pub(super) protection: Option<Protection>,
    /// The attempts, in order; after the last one, the first one follows.
    pub(super) attempts: Vec<Step>,
    pub(super) calls: Vec<Call>,
    /// The failing calls by other callers, in order.
    pub(super) others: Vec<Other>,
    /// `true`: a panic unwinds through the owner of the call, which drops the call. `false`: the panic
    /// is caught around the poll, and the call is dropped later.
    pub(super) unwinds: bool,
}

impl Script {
    pub(super) const fn policy(&self) -> Policy {
        POLICIES[self.policy]
    }

    /// Returns the breaker and the quota of the world, which the calls may not use.
    pub(super) fn protected(&self) -> Protection {
        self.protection.unwrap_or(Protection::UNUSED)
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        6 => (0..3_u32).prop_map(Outcome::Value),
        12 => Just(Outcome::Refused),
        5 => Just(Outcome::TimedOut),
        3 => prop::sample::select(vec![404, 500, 503, 504]).prop_map(Outcome::Status),
        5 => Just(Outcome::Throttled),
        2 => Just(Outcome::Overloaded),
        2 => Just(Outcome::Corrupt),
        1 => Just(Outcome::Panic),
    ];
    // Some exceed a timeout, some a deadline.
    let takes = prop_oneof![
        2 => Just(Some(0)),
        6 => (1..1_000_u64).prop_map(Some),
        3 => (1_000..3_000_u64).prop_map(Some),
        1 => (3_000..10_000_u64).prop_map(Some),
        1 => Just(None),
    ];
    let step = (outcome, takes).prop_map(|(outcome, takes)| Step { outcome, takes: takes.map(ms) });
    prop::collection::vec(step, 1..12)
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let patience = prop_oneof![
        3 => Just(30_000_u64),
        1 => 1..6_000_u64,
    ];
    let call = (0..3_000_u64, patience)
        .prop_map(|(pause, patience)| Call { pause: ms(pause), patience: ms(patience) });
    prop::collection::vec(call, 1..6)
}

fn protection() -> impl Strategy<Value = Protection> {
    let opens = prop_oneof![
        3 => (1..15_u32).prop_map(Opens::Failures),
        1 => (1..8_u32, 8..16_u32).prop_map(|(minimum, window)| Opens::Rate { minimum, window }),
        3 => (1..2_000_u64, 1..8_u32, 8..16_u32, prop::option::of(1..8_u32)).prop_map(
            |(longer_than, minimum, window, failures)| Opens::Slow {
                longer_than: ms(longer_than),
                minimum,
                window,
                failures,
            }
        ),
        1 => (1..2_000_u64, 1..8_u32)
            .prop_map(|(after, failures)| Opens::Abandoned { after: ms(after), failures }),
    ];
    let half_open = (1..4_000_u64, 1..4_u32, 1..4_u32);
    let stage = prop_oneof![
        1 => Just(None),
        1 => (1..1_500_u64).prop_map(|stage| Some(ms(stage))),
    ];
    let hold = prop_oneof![
        1 => Just(None),
        1 => (100..3_000_u64).prop_map(|hold| Some(ms(hold))),
    ];
    (opens, half_open, (stage, hold), 10..120_u32, any::<bool>()).prop_map(
        |(opens, (open, half_open_requests, success_threshold), (stage, hold), tokens, shared)| {
            Protection {
                opens,
                open: ms(open),
                half_open_requests,
                success_threshold,
                stage,
                hold,
                tokens,
                shared,
            }
        },
    )
}

pub(super) fn script() -> impl Strategy<Value = Script> {
    let matching = prop_oneof![
        3 => Just(Matching::Everything),
        1 => Just(Matching::Listed),
        1 => Just(Matching::When),
        1 => Just(Matching::ListedAndWhen),
        1 => Just(Matching::Values),
    ];
    let kind = prop_oneof![
        4 => Just(Kind::Io),
        1 => Just(Kind::Erased),
        1 => Just(Kind::Text),
        1 => Just(Kind::Classified),
    ];
    let others = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec(
            (0..12_000_u64, any::<bool>()).prop_map(|(at, is_limited)| Other { at: ms(at), is_limited }),
            1..6,
        ),
    ];
    (
        // The last three have hedges.
        prop_oneof![0..7_usize, 7..POLICIES.len()],
        (matching, kind),
        prop_oneof![1 => Just(None), 3 => protection().prop_map(Some)],
        steps(),
        calls(),
        others,
        any::<bool>(),
    )
        .prop_map(
            |(policy, (matching, kind), protection, attempts, calls, others, unwinds)| {
                // Only `io::Error` is combined with every kind of matching; for the others, lists are
                // enough.
                let matching = if kind == Kind::Io { matching } else { Matching::Listed };
                let mut others = if protection.is_some() { others } else { Vec::new() };
                others.sort_unstable_by_key(|other| other.at);
                Script { policy, matching, kind, protection, attempts, calls, others, unwinds }
            },
        )
}

/// Errors that a script can create.
pub(super) trait Fails: Display + Send + Sync + 'static {
    fn new(outcome: Outcome) -> Self;
}

impl Fails for io::Error {
    fn new(outcome: Outcome) -> Self {
        let status = |code: u16, wait| {
            let code = http::StatusCode::from_u16(code).unwrap();
            Self::other(StatusError::new(code, wait))
        };
        match outcome {
            Outcome::Value(_) | Outcome::Corrupt | Outcome::Panic => ErrorKind::InvalidData.into(),
            Outcome::Refused => ErrorKind::ConnectionRefused.into(),
            Outcome::TimedOut => ErrorKind::TimedOut.into(),
            Outcome::Status(code) => status(code, None),
            Outcome::Throttled => status(429, outcome.asked_wait()),
            Outcome::Overloaded => status(503, outcome.asked_wait()),
        }
    }
}

impl Fails for anyhow::Error {
    fn new(outcome: Outcome) -> Self {
        Self::new(<io::Error as Fails>::new(outcome)).context("fetching")
    }
}

impl Fails for String {
    fn new(outcome: Outcome) -> Self {
        <io::Error as Fails>::new(outcome).to_string()
    }
}

/// Classifies itself; it has neither a source nor a known type.
#[derive(Debug)]
pub(super) struct Own(Outcome);

impl Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timed out, or so it reads: {:?}", self.0)
    }
}

impl Classify for Own {
    fn class(&self) -> Class {
        match self.0 {
            Outcome::Refused => Class::NETWORK,
            Outcome::TimedOut => Class::TIMEOUT,
            Outcome::Status(code) => classify::status(code),
            Outcome::Throttled => Class::RATE_LIMIT,
            Outcome::Overloaded => Class::SERVER_ERROR,
            Outcome::Value(_) | Outcome::Corrupt | Outcome::Panic => Class::empty(),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        self.0.asked_wait()
    }
}

impl Fails for Own {
    fn new(outcome: Outcome) -> Self {
        Self(outcome)
    }
}

/// The text of a failure.
pub(super) fn text_of(kind: Kind, outcome: Outcome) -> String {
    match kind {
        Kind::Io => <io::Error as Fails>::new(outcome).to_string(),
        Kind::Erased => <anyhow::Error as Fails>::new(outcome).to_string(),
        Kind::Text => <String as Fails>::new(outcome),
        Kind::Classified => Own(outcome).to_string(),
    }
}
