//! The rows of the options of a policy, and of the settings of a breaker and of a quota: everything
//! that is written about an option by itself.
//!
//! [`Field`](super::field::Field), [`POLICY`](super::options::POLICY), the keys of files and
//! overrides, the options of the macro, the schema of workflow files and the settings of `explain`
//! are derived from these rows. `tests/tests/project/options.rs` checks the lists in the
//! documentation against them.

/// Calls a macro with the rows of the options of a policy, after other tokens:
///
/// ```text
/// /// A sentence that applies wherever the option is written.
/// /// Another one, for the attribute only.    (may be left out)
/// name => Field { part => Part: Type } ["key" or "other"] Kind(setter, "example", "default", Needs);
/// ```
///
/// - A part is a field that a rule may read; if it has a type, it is a key of files.
/// - The keys in files are left out if the only one is `name`.
/// - `Kind` is the kind of value, a variant of `options::Kind`, and `setter` the method of `Policy`
///   that sets it.
/// - `Needs` is the code that an expansion contains for the option, a variant of `options::Needs`.
///   It is left out if there is none. So is a default that a sentence names.
#[doc(hidden)]
#[macro_export]
macro_rules! policy_options {
    ($then:ident! { $($before:tt)* }) => {
        $then! { $($before)*
            /// Total calls, the first included.
            /// Or `unlimited`, with one of the bounds below, or `budget = unlimited`.
            attempts => Attempts {} ["attempts" or "max_attempts"]
                Attempts(with_attempts, "5", "3");

            /// The curve of the waits.
            /// One of `fixed`, `linear(increment = "2s")`, `exponential(base = 2.0)`, `fibonacci`, `custom("500ms", "1s")`.
            backoff => Backoff { base => Base increment => Increment delays => Delays } []
                Backoff(backoff, "exponential", "`exponential`");

            /// The first wait.
            initial_delay => InitialDelay {} [] Time(initial_delay, "\"1s\"", "1 s");

            /// No wait is longer, jitter included.
            max_delay => MaxDelay {} []
                Bound(with_max_delay, "\"30s\"", "30 s, or a longer fixed or custom wait");

            /// The first wait, if it differs: the curve begins at the second.
            first_delay => FirstDelay {} [] Time(first_delay, "\"0s\"", "by the curve");

            /// Spreads each wait.
            /// `jitter` alone is ±30 %. Also `full`, `equal`, `decorrelated`, `none`; upwards, as far as `max_delay` allows: `up(0.3)`, `"0ms..250ms"`.
            jitter => Jitter { jitter_factor => JitterFactor: Number } []
                Jitter(jitter, "0.25", "none");

            /// Bounds the sum of the waits, not the time inside the calls.
            budget => Budget {} ["retry_budget" or "budget"] Bound(with_budget, "\"5m\"", "none");

            /// Bounds the whole call, the running attempt included.
            /// Checked only between attempts if not async.
            deadline => Deadline {} [] Bound(with_deadline, "\"30s\"", "none", Timer);

            /// No attempt begins later than this after the call began; the running one is never cut off.
            max_elapsed => MaxElapsed {} [] Bound(with_max_elapsed, "\"5m\"", "none", Clock);

            /// If the server asks for a longer wait, the call ends.
            max_retry_after => MaxRetryAfter {} [] Bound(with_max_retry_after, "\"10m\"", "1 h");

            /// Bounds one attempt.
            /// Async only.
            timeout => Timeout {} [] Bound(with_timeout, "\"2s\"", "none", Timer);

            /// An attempt that has not answered after this is joined by another one, and the first success counts.
            /// See [hedging](crate::guide::hedging). Also `hedge(after = "200ms", max = 2)`, `hedge = p95`, and `hedge` alone, for the hedge of the `policy`; async only.
            hedge => Hedge { max_hedges => MaxHedges: Count } []
                Hedge(with_hedges, "\"200ms\"", "none", Hedges);
        }
    };
}

/// Calls a macro with the rows of the settings of a breaker, after other tokens. The sentences are
/// those of the builder methods, which have the same names.
#[doc(hidden)]
#[macro_export]
macro_rules! breaker_settings {
    ($then:ident! { $($before:tt)* }) => {
        $then! { $($before)*
            /// Sets how many consecutive failures open the breaker. Default 5; at least 1.
            /// With a rate it has no default; if both are set, the one that is reached first opens it.
            failure_threshold => FailureThreshold {} [] Count(failure_threshold, "3");

            /// Opens when at least this share of the calls in the window failed; above 0, up to 1.
            failure_rate => FailureRate {} [] Share(failure_rate, "0.5");

            /// Measures rates over the last `calls` calls. The default, with 100.
            window_calls => WindowCalls {} [] Count(window_calls, "100");

            /// Measures rates over the last `time`.
            window_time => WindowTime {} [] Time(window_time, "\"30s\"");

            /// Sets how many calls must be in the window before a rate counts. Default 10.
            minimum_calls => MinimumCalls {} [] Count(minimum_calls, "100");

            /// Sets how long a call may take before it counts as slow.
            slow_call => SlowCall {} [] Time(slow_call, "\"30s\"");

            /// Sets the share of slow calls, above 0 and up to 1, that opens the breaker.
            slow_rate => SlowRate {} [] Share(slow_rate, "0.5");

            /// Sets how many successful probes close the breaker. Default 3.
            success_threshold => SuccessThreshold {} [] Count(success_threshold, "3");

            /// Sets how long the breaker stays open before it lets probes through. Default 30 s.
            timeout => OpenTimeout {} [] Time(timeout, "\"30s\"");

            /// Multiplies the open time by this factor each time a probe fails, up to
            /// `max_timeout`; closing resets it to `timeout`. At least 1 (default): it does not grow.
            timeout_growth => TimeoutGrowth {} [] Share(timeout_growth, "2.0");

            /// Sets the longest open time, jitter included. Default 5 min, or `timeout` if
            /// that is longer.
            max_timeout => MaxTimeout {} [] Time(max_timeout, "\"5m\"");

            /// Extends the open time by up to this share at random, so that processes that
            /// opened together do not probe together. From 0 (default) to 1.
            timeout_jitter => TimeoutJitter {} [] Share(timeout_jitter, "0.5");

            /// Sets how many probes may run at a time while half-open. Default 3.
            half_open_requests => HalfOpenRequests {} [] Count(half_open_requests, "3");

            /// Sets the time after which a half-open breaker closes although fewer than `success_threshold`
            /// probes have succeeded: at least one has, and none has failed. For breakers that are seldom
            /// called. Default none; above 0.
            half_open_for => HalfOpenFor {} [] Time(half_open_for, "\"5m\"");

            /// Sets what follows when enough probes have succeeded: all calls at once, or a share of them
            /// that grows. Default `probes`.
            half_open => HalfOpen {} [] HalfOpen(half_open, "gradual");

            /// Sets how long each stage of a gradual half-open state lasts at least.
            /// Default a tenth of the open `timeout`; above 0.
            stage_time => StageTime {} [] Time(stage_time, "\"3s\"");

            /// Counts a call as a failure if it was given up after at least this long: dropped, or cut off
            /// by a limit of the caller. Default: such calls say nothing, unless they are slow.
            ///
            /// For callers whose own limits end their calls to a server that hangs. Where it is set, each
            /// call reads the clock.
            abandoned_after => AbandonedAfter {} [] Time(abandoned_after, "\"1s\"");

            /// Holds all calls for as long as a server asks one of them to wait, and at most for this long.
            /// Default: each call waits for its own server's wait only; above 0.
            ///
            /// Only the wait of a failure whose class contains `rate_limit` or `server_error` counts. While
            /// calls are held, each attempt is rejected, whatever the state. A rate limit that holds calls
            /// is neither a failure nor a success.
            hold => Hold {} [] Time(hold, "\"2m\"");

            /// Rejects nothing: measures, and reports what the breaker would have done. For the
            /// first weeks in production.
            observe_only => ObserveOnly {} [] Flag(with_observe_only, "true");
        }
    };
}

/// Calls a macro with the rows of the settings of a quota, after other tokens. The sentences are
/// those of the builder methods, which have the same names.
#[doc(hidden)]
#[macro_export]
macro_rules! quota_settings {
    ($then:ident! { $($before:tt)* }) => {
        $then! { $($before)*
            /// Sets the tokens in a full bucket.
            capacity => Capacity {} [] Count(capacity, "100", "500");

            /// Sets the tokens that a retry costs.
            retry_cost => RetryCost {} [] Count(retry_cost, "14", "5");

            /// Sets the tokens that a retry after a timeout costs.
            timeout_cost => TimeoutCost {} [] Count(timeout_cost, "14", "10");

            /// Sets the tokens that a retry costs after the server asked for fewer calls: HTTP 429 and the
            /// like.
            throttling_cost => ThrottlingCost {} [] Count(throttling_cost, "5", "as any other, 5");

            /// Sets the tokens that come back each second, while the bucket is not full.
            refill_per_sec => RefillPerSec {} [] Share(refill_per_sec, "0.5", "0");

            /// Sets the tokens that a call refunds if its first attempt succeeds.
            success_refund => SuccessRefund {} [] Count(success_refund, "1", "1");

            /// Sets how many retries and hedges there may be as a share of the calls of the last 10
            /// seconds, beside what the bucket allows.
            share => Share {} [] Share(share, "0.2", "no limit");
        }
    };
}

pub(crate) use {breaker_settings, policy_options, quota_settings};
