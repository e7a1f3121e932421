//! The names of other libraries that are methods there, with what to write here.

use retry_rules::methods_elsewhere;

methods_elsewhere! {
    (impl crate::CircuitBreaker)
    is_call_permitted() | allow() | allow_request() | can_execute() | acquire() | acquire_permission()
        | try_acquire_permission() | is_allowed() | is_call_allowed()
        => "write `try_acquire()`, whose permit reports the outcome, or `call(closure)`"
    execute(call) | run(call) | wrap(call) | exec(call) | protect(call) | execute_async(call)
        | call_with(predicate, call)
        => "write `call(closure)`, or `call_async(closure).await`; with retries, `#[retry(breaker = DB)]`"
    success() | on_success() | record_success() | failure() | on_error() | on_failure()
        | record_failure() | record_error(error)
        => "a permit reports the outcome: write `let permit = DB.try_acquire()?;` before the call, and \
            `permit.success()` or `permit.failure()` after it; `DB.call(closure)` does both"
    trip() | open() | isolate() | transition_to_open_state() => "write `force_open()`"
    is_closed() | is_half_open() | current_state() | get_state() | circuit_state()
        => "write `state() == State::Closed`, or another state"
    on_state_change(listener) | on_open(listener) | on_close(listener) | on_half_open(listener)
        | subscribe(listener) | on_state_transition(listener)
        => "write `on_transition(listener)`, whose argument has the states: `transition.from`, `transition.to`"
    failure_threshold(value) | timeout(value) | success_threshold(value) | minimum_calls(value)
        => "the settings come first: `CircuitBreaker::new(\"db\", BreakerConfig::new().failure_threshold(5))`"
    metrics() | stats() | counts() | failure_rate() | failure_count() => "write `snapshot()`"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl crate::State)
    is_open() | is_closed() | is_half_open() => "write a comparison, as in `DB.state() == State::Open`"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl<K> crate::Breakers<K>)
    get(key) | get_or_create(key) | get_or_insert(key) | entry(key) | breaker(key) | for_key(key)
        => "write `of(key)`, which creates the breaker of a new key"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl<E> crate::RetryError<E>)
    // Not `is_timeout`, `status` or `kind`, which a program may add by a trait of its own.
    error() | inner() | into_inner()
        => "write `last()`, the last error of the body if there is one, `into_last()` or `into_error()`"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl crate::Attempt)
    attempt() | attempt_number() | count() | retries() => "write `number()`, which is 1 for the first call"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl<E> crate::RetryEvent<'_, E>)
    delay() | duration() | next_delay() | sleep() => "write `wait()`"
    attempt_number() | number() | retries() => "write `attempt()`, which is 1 for the first call"
    // The compiler also shows the last line.
}

methods_elsewhere! {
    (impl<D, V> crate::Retrier<D, V>)
    execute(call) | call(call) | retry(call) | spawn(call) | run_async(call)
        => "write `run(closure).await`, or `run_sync(closure)`"
    attempts(attempts) | max_attempts(attempts) | max_retries(retries) | backoff(backoff) | delay(delay)
        | timeout(timeout) | jitter(jitter)
        => "the policy has the numbers and the times: `Retrier::new(Policy::new().attempts(4))`"
    retry_if(condition) | filter(condition) => "write `when(condition)`"
    notify(listener) | on_error(listener) => "write `on_retry(listener)`"
    // The compiler also shows the last line.
}
