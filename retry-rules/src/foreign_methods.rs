//! Methods of other libraries. A call of one is a compile error with the replacement.

use crate::{BreakerConfig, Policy, QuotaConfig};

/// Declares methods that a type does not have, and the message about a call of one:
/// `[generics] Type: name(argument) => "message";`, or `[generics] Type::name => "message";` for one
/// that creates it.
///
/// Their bound never holds, so that the compiler reports the message. The type that they return
/// does not exist either, so that the rest of a chain adds no errors. Documentation and completion
/// leave them out.
///
/// `[] Type = Name => "message";` declares a value of the type, such as a variant.
///
/// With `&Type`, they return any type. This is for a type whose methods are called through a
/// reference, or before its parameters are known: the compiler then has the message only of a bound
/// that it checks after it has chosen the method.
#[doc(hidden)]
#[macro_export]
macro_rules! foreign_methods {
    () => {};
    ([] $Type:ident = $($name:ident)* => $message:literal; $($rest:tt)*) => {
        const _: () = {
            #[diagnostic::on_unimplemented(message = $message, label = "no such value here")]
            pub trait Known<'a> {}

            #[doc(hidden)]
            #[allow(non_upper_case_globals)]
            impl $Type
            where
                for<'a> Self: Known<'a>,
            {
                $(pub const $name: () = ();)*
            }
        };
        $crate::foreign_methods! { $($rest)* }
    };
    ([$($generics:tt)*] $Type:ident::$name:ident => $message:literal; $($rest:tt)*) => {
        $crate::foreign_methods! {
            @impl [$($generics)*] $Type, $message,
            #[doc(hidden)]
            pub const fn $name() -> <Self as Known<'static>>::Value
            where
                for<'a> Self: Known<'a>,
            {
                loop {}
            }
        }
        $crate::foreign_methods! { $($rest)* }
    };
    (
        [$($generics:tt)*] &$Type:ty: $($name:ident($($argument:ident)?))* => $message:literal;
        $($rest:tt)*
    ) => {
        $crate::foreign_methods! {
            @impl [$($generics)*] $Type, $message,
            $(
                #[doc(hidden)]
                #[allow(unused_variables)]
                pub const fn $name<Returned>(&self, $($argument: impl Sized)?) -> Returned
                where
                    for<'a> Self: Known<'a>,
                {
                    loop {}
                }
            )*
        }
        $crate::foreign_methods! { $($rest)* }
    };
    (
        [$($generics:tt)*] $Type:ty: $($name:ident($($argument:ident)?))* => $message:literal;
        $($rest:tt)*
    ) => {
        $crate::foreign_methods! {
            @impl [$($generics)*] $Type, $message,
            $(
                #[doc(hidden)]
                #[allow(unused_variables)]
                pub const fn $name(
                    &self,
                    $($argument: impl Sized)?
                ) -> <Self as Known<'static>>::Value
                where
                    for<'a> Self: Known<'a>,
                {
                    loop {}
                }
            )*
        }
        $crate::foreign_methods! { $($rest)* }
    };
    (@impl [$($generics:tt)*] $Type:ty, $message:literal, $($methods:item)*) => {
        const _: () = {
            #[diagnostic::on_unimplemented(message = $message, label = "no such method here")]
            pub trait Known<'a> {
                type Value;
            }

            impl<$($generics)*> $Type {
                $($methods)*
            }
        };
    };
}

foreign_methods! {
    [] Policy: retry_on(n) abort_on(n) retry_if(n) when(n) on_retry(n) breaker(n) quota(n) =>
        "a policy has numbers and durations only: write `Retrier::new(policy).retry_on([network])`, or `#[retry(policy = HTTP, retry_on = [network])]`";
    [] Policy: exponential(n) linear(n) fibonacci() fixed(n) constant(n) custom(n) =>
        "the curve of the waits is a `Backoff`: write `.backoff(Backoff::DEFAULT)` for doubled waits, or `.backoff(Backoff::Fixed)` for equal ones, beside `.initial_delay(…)`";
    [] Policy: with_max_attempts(n) with_max_times(n) max_times(n) with_max_retries(n) =>
        "the number of calls, the first included, is set with `.attempts(5)`";
    [] Policy: delay(n) min_delay(n) with_min_delay(n) base_delay(n) interval(n) initial_interval(n) =>
        "the first wait is set with `.initial_delay(Duration::from_secs(1))`, the longest one with `.max_delay(…)`";
    [] BreakerConfig: max_failures(n) failures(n) failure_count(n) consecutive_failures(n) =>
        "the number of failures that open the breaker is set with `.failure_threshold(5)`";
    [] BreakerConfig: open_timeout(n) reset_timeout(n) recovery_timeout(n) open_wait(n) open_for(n) open_duration(n) wait_duration(n) cooldown(n) break_duration(n) sleep_window(n) reset_after(n) =>
        "the time for which the breaker stays open is set with `.timeout(Duration::from_secs(30))`";
    [] BreakerConfig: window(n) window_size(n) sliding_window(n) sliding_window_size(n) =>
        "the window of a failure rate is set with `.window_calls(100)` or `.window_time(Duration::from_secs(10))`";
    [] BreakerConfig: failure_rate_threshold(n) failure_ratio(n) error_rate(n) error_threshold(n) =>
        "the share of failed calls that opens the breaker is set with `.failure_rate(0.5)`";
    [] BreakerConfig: minimum_throughput(n) minimum_number_of_calls(n) min_calls(n) min_requests(n) request_volume_threshold(n) volume_threshold(n) =>
        "the number of calls before a rate counts is set with `.minimum_calls(20)`";
    [] BreakerConfig: permitted_calls_in_half_open(n) permitted_number_of_calls_in_half_open_state(n) half_open_calls(n) half_open_max_calls(n) probes(n) =>
        "the number of calls that a half-open breaker admits at once is set with `.half_open_requests(3)`";
    [] BreakerConfig: on_open(f) on_close(f) on_half_open(f) on_state_change(f) on_state_transition(f) on_transition(f) =>
        "a breaker has listeners, and not its settings: write `DB.on_transition(|transition| …)`";
    [] Policy::builder => "a policy is built by its own methods: write `Policy::new().attempts(5)`";
    [] BreakerConfig::builder =>
        "the settings are built by their own methods: write `BreakerConfig::new().failure_threshold(5)`";
    [] QuotaConfig::builder =>
        "the settings are built by their own methods: write `QuotaConfig::new().capacity(500)`";
    [] QuotaConfig: max_tokens(n) tokens(n) size(n) max(n) limit(n) burst(n) =>
        "the number of tokens is set with `.capacity(500)`";
    [] QuotaConfig: ratio(n) retry_ratio(n) percent_can_retry(n) =>
        "the share of the calls that may be retries is set with `.share(0.2)`";
    [] QuotaConfig: refill(n) refill_rate(n) refill_interval(n) rate(n) per_second(n) tokens_per_second(n) =>
        "the tokens that return each second are set with `.refill_per_sec(10.0)`";
}
