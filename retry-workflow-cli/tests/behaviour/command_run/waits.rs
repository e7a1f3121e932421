//! Every way to write a backoff, and the waits that result.

use super::support::Place;

/// Checks the waits of a command that always fails, with this `retry_config`.
#[track_caller]
fn waits(config: &str, expected: &[u64]) {
    let workflow = format!(
        "name: job\ncommands:\n  - name: call\n    shell: 'echo busy >&2; false'\n    retry_config: {config}\n"
    );
    let place = Place::with(&workflow);
    place.ends(1, &["run", "job.yml", "-q"]).says("`call` failed: exit status 1: busy");
    assert_eq!(place.waits("call"), expected, "{config}");
}

#[test]
fn a_fixed_wait_is_a_word_or_a_key_without_a_value() {
    waits("{ attempts: 3, backoff: fixed, initial_delay: 15ms }", &[15, 15, 0]);
    waits("{ attempts: 3, backoff: { fixed: null }, initial_delay: 15ms }", &[15, 15, 0]);
}

#[test]
fn waits_grow_by_a_factor_by_a_step_or_like_rabbits() {
    waits("{ attempts: 4, initial_delay: 10ms }", &[10, 20, 40, 0]);
    waits("{ attempts: 4, initial_delay: 10ms, max_delay: 15ms }", &[10, 15, 15, 0]);
    waits(
        "{ attempts: 4, initial_delay: 10ms, backoff: { exponential: { base: 3.0 } } }",
        &[10, 30, 90, 0],
    );
    waits(
        "{ attempts: 4, initial_delay: 10ms, backoff: { linear: { increment: 5ms } } }",
        &[10, 15, 20, 0],
    );
    waits("{ attempts: 5, initial_delay: 10ms, backoff: fibonacci }", &[10, 10, 20, 30, 0]);
}

#[test]
fn waits_of_ones_own_are_texts_or_seconds_and_nanoseconds() {
    waits(
        "{ attempts: 3, backoff: { custom: { delays: [10ms, { secs: 0, nanos: 25000000 }] } } }",
        &[10, 25, 0],
    );
}

#[test]
fn only_what_matches_is_waited_for() {
    waits("{ attempts: 3, initial_delay: 5ms, retry_on: [network] }", &[0]);
    waits("{ attempts: 3, initial_delay: 5ms, retry_on: [{ pattern: '(?i)BUSY' }] }", &[5, 10, 0]);
}

#[test]
fn a_command_that_must_not_act_twice_is_repeated_if_it_could_not_connect() {
    for (said, expected) in [
        (
            "curl: (7) Failed to connect to shop port 80 after 0 ms: Couldn't connect to server",
            &[5, 0][..],
        ),
        ("curl: (56) Recv failure: Connection reset by peer", &[0]),
    ] {
        let place = Place::with(&format!(
            "name: job\ncommands:\n  - name: order\n    shell: |\n      echo \"{said}\" >&2; false\n    \
             retry_config: {{ attempts: 2, initial_delay: 5ms, retry_on: [connect] }}\n"
        ));
        place.ends(1, &["run", "job.yml", "-q"]);
        assert_eq!(place.waits("order"), expected, "{said}");
    }
}

#[test]
fn a_budget_ends_the_waits() {
    // The budget is far from the first wait and from the second, even on a busy machine.
    waits(
        "{ attempts: 9, initial_delay: 10ms, backoff: { exponential: { base: 1000.0 } }, retry_budget: 9s }",
        &[10, 0],
    );
}
