//! Handlers: steps that decide what happens to an item that has failed.

use super::support::{Place, stores, until};

/// A job whose second step succeeds once a handler has run twice; the handler says `decision`.
fn place(decision: &str) -> Place {
    Place::with(&format!(
        "name: job
map:
  input: items.json
  agent_template:
    - {{ shell: 'echo prepare >> log; echo ready', capture: what }}
    - shell: 'echo pay ${{what}} ${{last.output}} >> log; test $(grep -c handled log) -ge 2'
      retry_config: {{ attempts: 2, initial_delay: 1ms }}
    - shell: 'echo mail >> log'
error_policy:
  on_item_failure: help
  retry_config: {{ max_attempts: 4, backoff: {{ fixed: {{ delay: 1s }} }} }}
handlers:
  help: {{ shell: 'echo handled >> log; echo said; echo {decision}' }}
"
    ))
    .items(&["a"])
}

#[test]
fn retry_step_continues_at_the_failed_step_with_fresh_attempts() {
    for store in stores() {
        let place = place("retry-step").on(store);
        place.ends(0, &["run", "job.yml"]).says("1 succeeded, of 1");
        let pay = "pay ready ready\n";
        let log = format!("prepare\n{pay}{pay}handled\n{pay}{pay}handled\n{pay}mail\n");
        assert_eq!(place.read("log"), log);
        // The rounds wait as `error_policy.retry_config` says.
        let items = place.objects(&["items", "show", "a"]);
        let waits = items[0]["history"].as_array().unwrap().iter();
        let waits: Vec<_> = waits.map(|row| row["wait"].as_f64().unwrap()).collect();
        assert_eq!(waits, [0.001, 1.0, 0.001, 1.0, 0.0]);
    }
}

#[test]
fn retry_begins_at_the_first_step() {
    let place = place("retry");
    place.ends(0, &["run", "job.yml"]);
    let round = "prepare\npay ready ready\npay ready ready\nhandled\n";
    let last = "prepare\npay ready ready\nmail\n";
    assert_eq!(place.read("log"), format!("{round}{round}{last}"));
}

#[test]
fn the_failed_step_is_remembered_across_processes_and_edits() {
    for store in stores() {
        let place = place("retry-step").on(store);
        let running = place.spawn(&["run", "job.yml"]);
        until("the handler has run", || place.read("log").contains("handled"));
        running.signal("INT");
        assert_eq!(running.ended().code, Some(1));
        let file = place.read("job.yml");
        place.write("job.yml", &file.replace("echo prepare", "echo other"));
        place.ends(2, &["resume"]).says("item `a` has finished step 1");
        place.write("job.yml", &file.replace("echo pay", "echo paid"));
        place.ends(0, &["resume"]);
        let log = place.read("log");
        assert!(
            log.starts_with("prepare\npay ready ready\npay ready ready\nhandled\npaid "),
            "{log}"
        );
        assert_eq!(log.matches("prepare").count(), 1);
    }
}

#[test]
fn the_rounds_of_retry_step_end_too() {
    let place = place("retry-step");
    let file = place.read("job.yml");
    place.write("job.yml", &file.replace("-ge 2", "-ge 9").replace("delay: 1s", "delay: 1ms"));
    place.ends(3, &["run", "job.yml"]).says("1 dead letter");
    let log = place.read("log");
    assert_eq!((log.matches("prepare").count(), log.matches("handled").count()), (1, 4));
    assert_eq!(log.matches("pay").count(), 8);
}

#[test]
fn a_step_inside_on_success_is_continued_with() {
    let place = Place::with(
        "name: job
map:
  input: items.json
  agent_template:
    - shell: 'echo main >> log'
      on_success:
        - shell: 'echo first >> log'
        - shell: 'echo second >> log; test -e repaired'
error_policy: { on_item_failure: help, retry_config: { backoff: { fixed: { delay: 1ms } } } }
handlers: { help: { shell: 'touch repaired; echo retry-step' } }
",
    )
    .items(&["a"]);
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("log"), "main\nfirst\nsecond\nsecond\n");
}

/// The limit for all steps of an item starts over, too.
#[test]
fn a_step_that_took_too_long_is_continued_with() {
    let place = Place::with(
        "name: job
map:
  input: items.json
  agent_timeout_secs: 1
  agent_template:
    - shell: 'echo first >> log'
    - shell: 'echo second >> log; test -e repaired || sleep 30'
error_policy: { on_item_failure: help, retry_config: { backoff: { fixed: { delay: 1ms } } } }
handlers: { help: { shell: 'touch repaired; echo retry-step' } }
",
    )
    .items(&["a"]);
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("log"), "first\nsecond\nsecond\n");
}
