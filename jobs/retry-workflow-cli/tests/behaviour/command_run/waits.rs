//! Every way to write a backoff, and the waits that result.

use super::support::{Place, stores, until};

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
fn waits_grow_exponentially_linearly_or_by_fibonacci() {
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
fn only_matching_failures_are_retried() {
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

#[test]
fn waits_end_at_once_after_an_outage() {
    for store in stores() {
        let text = "name: night\nmap:\n  input: items.json\n  agent_template:\n    shell: 'echo ${item.id} >> log; [ -e repaired ]'\n    retry_config: { attempts: 3, initial_delay: 1h, max_delay: 1h }\n";
        let place = Place::with(text).on(store).items(&["a", "b", "c"]);
        let mut running = place.spawn(&["run", "job.yml", "--no-progress"]);
        let all_wait = || {
            let items = place.objects(&["items", "list", "night-1", "--state", "pending"]);
            items.len() == 3 && items.iter().all(|item| item["attempt"] != 0)
        };
        until("all wait", all_wait);
        place
            .ends(0, &["items", "due", "night-1"])
            .says("3 waiting items are due now")
            .says(&format!("process {}, which works on night-1, picks them up", running.worker()));
        until("they have failed again", || place.read("log").lines().count() == 6 && all_wait());
        // Without a worker, they are due when there is one.
        running.signal("INT");
        running.line_with("stopping").unwrap();
        assert_eq!(running.ended().code, Some(1));
        place.write("repaired", "");
        place.ends(1, &["resume", "--deadline", "500ms"]);
        assert_eq!(place.read("log").lines().count(), 6, "their waits last");
        assert_eq!(place.object(&["items", "due", "night-1"])["due"], 3);
        let again = place.ends(0, &["items", "due", "night-1"]);
        again.says("0 waiting items are due now");
        place.ends(0, &["resume"]).says("3 succeeded, of 3").says("attempts  9");
        place.ends(2, &["items", "due", "nigth-1"]).says("night-1");
    }
}

#[test]
fn the_wait_of_a_step_of_reduce_ends_too() {
    let text = "name: night\nmap: { input: items.json, agent_template: { shell: 'true' } }\nreduce:\n  shell: 'echo >> log; [ -e repaired ]'\n  retry_config: { attempts: 3, initial_delay: 1h, max_delay: 1h }\n";
    let place = Place::with(text).items(&["a"]);
    let running = place.spawn(&["run", "job.yml"]);
    until("it waits", || {
        let said = place.objects(&["items", "list", "night-1/reduce-1", "--state", "pending"]);
        said.iter().any(|item| item["attempt"] == 1)
    });
    place.write("repaired", "");
    place.ends(0, &["items", "due", "night-1"]).says("1 waiting item is due now");
    assert_eq!(running.ended().code, Some(0));
}
