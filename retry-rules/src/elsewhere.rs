//! The names of other libraries that are methods there. A call of one is an error that says what to
//! write, where rustc would propose the name that looks like it.

/// Declares methods that cannot be called, each with what to write in its place:
///
/// ```text
/// methods_elsewhere! { (impl<E> RetryError<E>) into_inner() | error() => "write `into_last()`" }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! methods_elsewhere {
    ($head:tt $($($name:ident($($argument:ident),*))|+ => $write:literal)+) => {
        $($crate::methods_elsewhere! { @ $head $($name($($argument),*))+ => $write })+
    };
    (@ ($($head:tt)+) $($name:ident($($argument:ident),*))+ => $write:literal) => {
        const _: () = {
            #[diagnostic::on_unimplemented(message = $write, label = "another library's name")]
            pub trait HasMethod {}

            #[allow(non_camel_case_types, unused, clippy::all, clippy::pedantic)]
            $($head)+ {$(
                // Of any type, so that the use of its value is no mistake of its own.
                #[doc(hidden)]
                pub const fn $name<'a, Any $(, $argument)*>(&'a self $(, $argument: $argument)*) -> Any
                where
                    &'a Self: HasMethod,
                {
                    loop {}
                }
            )+}
        };
    };
}

/// Declares a table of names, separated by spaces, and what the attribute and files have for them, and
/// the methods of these names.
macro_rules! settings_elsewhere {
    (
        $(#[$about:meta])* $TABLE:ident, $head:tt
        $($first:ident $($name:ident)* => $here:literal, $write:literal)+
    ) => {
        $(#[$about])*
        pub const $TABLE: &[(&str, &str)] =
            &[$((concat!(stringify!($first) $(, " ", stringify!($name))*), $here)),+];
        methods_elsewhere! { $head $($first(value) $(| $name(value))* => $write)+ }
    };
}

settings_elsewhere! {
    /// Settings of circuit breakers in failsafe, gobreaker, Hystrix, Polly, recloser, resilience4j,
    /// seatbelt and tower-resilience.
    BREAKER, (impl crate::BreakerConfig)
    threshold failures consecutive_failures max_failures failure_count fail_max max_errors
        consecutive_errors failure_limit error_count trip_after trip_threshold open_after max_fails
        allowed_failures failures_allowed error_limit exceptions_allowed_before_breaking
        handled_events_allowed_before_breaking
        => "failure_threshold", "write `failure_threshold(5)`"
    failure_rate_threshold error_threshold_percentage failure_percentage failure_percent
        error_percent_threshold error_percentage failure_threshold_percentage
        => "failure_rate = 0.5", "write `failure_rate(0.5)`, a share of the calls"
    failure_ratio error_rate error_threshold failure_threshold_ratio
        => "failure_rate", "write `failure_rate(0.5)`, or `failure_threshold(5)` for failures in a row"
    sliding_window_size window_size closed_len buckets rolling_window_size
        => "window_calls", "write `window_calls(100)`, or `window_time(Duration::from_secs(60))`"
    sampling_duration window sliding_window rolling_window interval window_duration time_window
        sliding_window_duration sampling_period within period
        => "window_time", "write `window_time(Duration::from_secs(60))`, or `window_calls(100)`"
    minimum_throughput minimum_number_of_calls min_calls min_requests minimum_requests min_throughput
        request_volume_threshold volume_threshold minimum_number_of_requests
        => "minimum_calls", "write `minimum_calls(10)`"
    slow_call_duration_threshold slow_call_duration slow_threshold slow_after
        => "slow_call", "write `slow_calls(Duration::from_secs(2), 0.5)`"
    slow_call_rate_threshold
        => "slow_rate = 0.5", "write `slow_calls(Duration::from_secs(2), 0.5)`"
    reset_timeout open_timeout wait break_duration open_wait open_duration duration_of_break open_for
        wait_duration_in_open_state sleep_window cooldown reset_after recovery_timeout half_open_after
        half_open_timeout reset wait_duration break_time delay recovery recovery_time sleep
        wait_duration_in_open open_state_duration cooldown_period reset_time
        => "timeout", "write `timeout(Duration::from_secs(30))`, the time for which it stays open"
    growth multiplier backoff => "timeout_growth", "write `timeout_growth(2.0)`"
    max_open_timeout => "max_timeout", "write `max_timeout(Duration::from_secs(300))`"
    permitted_number_of_calls_in_half_open_state half_open_len half_open_max_calls probes trials
        permitted_calls half_open_calls half_open_max_requests max_requests trial_calls max_probes
        permitted_calls_in_half_open half_open_attempts half_open_probes half_open_limit
        => "half_open_requests", "write `half_open_requests(3)`"
    successes consecutive_successes required_successes close_after success_count
        => "success_threshold", "write `success_threshold(3)`"
    enabled disabled dry_run => "observe_only = true", "write `observe_only()`"
    // The compiler also shows the last line.
}

settings_elsewhere! {
    /// Settings of retry quotas in the AWS SDKs, Finagle, gRPC and linkerd.
    QUOTA, (impl crate::QuotaConfig)
    max_tokens tokens size bucket_size max limit burst max_capacity
        => "capacity", "write `capacity(100)`"
    refill refill_rate rate per_second tokens_per_second min_retries_per_sec min_retries_per_second
        => "refill_per_sec", "write `refill_per_sec(10.0)`"
    cost token_cost => "retry_cost", "write `retry_cost(5)`"
    refund token_ratio => "success_refund", "write `success_refund(1)`"
    ratio retry_ratio percent_can_retry budget_percent percent
        => "share", "write `share(0.2)`, one retry in five calls"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl crate::Policy)
    max_retries(retries) | with_max_retries(retries) | max_times(retries) | with_max_times(retries)
        => "write `retries(3)`, or `attempts(4)`, which counts the first call"
    with_jitter() | jittered() => "write `jitter(Jitter::Full)`"
    delay(delay) | base_delay(delay) | min_delay(delay) | with_min_delay(delay) | interval(delay)
        => "write `initial_delay(Duration::from_millis(100))`"
    max_interval(delay) | max_backoff(delay) | cap(delay) => "write `max_delay(Duration::from_secs(30))`"
    factor(base) | with_factor(base) | multiplier(base) | with_multiplier(base)
        => "write `backoff(Backoff::Exponential {{ base: 2.0 }})`"
    // The compiler also shows the last line.
}
