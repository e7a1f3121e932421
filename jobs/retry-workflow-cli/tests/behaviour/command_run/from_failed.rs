//! `dlq retry --from-failed`: the steps that a dead letter has finished do not run again.

use super::support::{Place, stores, until};

const PAY: &str = "{ shell: 'echo pay ${item.id} >> log; echo r-${item.id}', capture: receipt }";
const SHIP: &str =
    "shell: 'echo ship ${receipt} ${last.output} >> log; [ -e repaired-${item.id} ]'";
const MAIL: &str = "shell: 'echo mail ${receipt} >> log'";

fn workflow(steps: &[&str]) -> String {
    let steps = steps.join("\n    - ");
    format!(
        "name: job\nmap:\n  input: items.json\n  max_parallel: 1\n  agent_template:\n    - {steps}\n"
    )
}

/// A job whose items have died in their second step.
#[track_caller]
fn died(text: &str, ids: &[&str]) -> Place {
    let place = Place::with(text).items(ids);
    place.ends(3, &["run", "job.yml"]);
    place
}

/// Runs `dlq retry --from-failed`, and returns what its steps have logged.
#[track_caller]
fn redriven(place: &Place, code: i32, more: &[&str]) -> String {
    let before = place.read("log").len();
    let ran = place.ends(code, &[&["dlq", "retry", "job-1", "--from-failed"], more].concat());
    ran.says(" re-driven, from the failed step");
    place.read("log")[before..].to_owned()
}

const RETRY: [&str; 4] = ["dlq", "retry", "job-1", "--from-failed"];

#[test]
fn finished_steps_do_not_run_again_and_their_captures_are_known() {
    for store in stores() {
        let place = Place::with(&workflow(&[PAY, SHIP, MAIL])).items(&["a"]).on(store);
        place.ends(3, &["run", "job.yml"]);
        assert_eq!(redriven(&place, 3, &[]), "ship r-a r-a\n");
        place.write("repaired-a", "");
        assert_eq!(redriven(&place, 0, &[]), "ship r-a r-a\nmail r-a\n");
        assert_eq!(place.read("log").matches("pay").count(), 1);
        assert_eq!(place.object(&["items", "show", "a"])["run"], 2);
    }
}

#[test]
fn a_cancelled_item_continues_where_it_waited_and_shows_the_step() {
    for store in stores() {
        let ship = format!("{{ {SHIP}, retry_config: {{ attempts: 3, initial_delay: 20s }} }}");
        let place = Place::with(&workflow(&[PAY, &ship, MAIL])).items(&["a"]).on(store);
        let running = place.spawn(&["run", "job.yml"]);
        until("the item waits", || {
            let items = place.ran(&["items", "list", "job-1", "--json"]).out;
            items.contains("pending") && items.contains("checkpoint")
        });
        place.ends(0, &["items", "cancel", "job-1", "a"]);
        assert_eq!(running.ended().code, Some(3));
        place.ends(0, &["items", "show", "a"]).says("continues    at step 2, with --from-failed");
        place.write("repaired-a", "");
        assert_eq!(redriven(&place, 0, &["--class", "cancelled"]), "ship r-a r-a\nmail r-a\n");
        let shown = place.ends(0, &["items", "show", "a"]);
        assert!(!shown.out.contains("--from-failed"), "{shown:#?}");
    }
}

#[test]
fn a_plain_re_drive_begins_at_the_first_step() {
    let place = died(&workflow(&[PAY, SHIP, MAIL]), &["a"]);
    place.write("repaired-a", "");
    place.ends(0, &["dlq", "retry", "job-1"]);
    assert_eq!(place.read("log"), "pay a\nship r-a r-a\npay a\nship r-a r-a\nmail r-a\n");
}

#[test]
fn letters_re_driven_for_later_continue_at_the_failed_step_too() {
    let place = died(&workflow(&[PAY, SHIP, MAIL]), &["a"]);
    place.write("repaired-a", "");
    assert_eq!(redriven(&place, 0, &["--later"]), "");
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "pay a\nship r-a r-a\nship r-a r-a\nmail r-a\n");
}

#[test]
fn letters_that_have_finished_an_edited_step_are_refused_and_counted() {
    for store in stores() {
        let place = Place::with(&workflow(&[PAY, SHIP, MAIL])).items(&["a", "b", "c"]).on(store);
        place.ends(3, &["run", "job.yml"]);
        let other = PAY.replace("echo pay", "echo paid");
        place.write("job.yml", &workflow(&[&other, "shell: 'true'"]));
        place
            .ends(2, &RETRY)
            .says("job.yml: item `a` has finished step 1, `echo pay \"${item.id}\" >> log; echo")
            .says("(and 2 items like it); undo the edit")
            .says("write --restart-items as well");
        // Of the letters that are meant, each has to fit.
        let one = [&RETRY[..], &["--item", "b"]].concat();
        let refused = place.ends(2, &one);
        assert!(!refused.err.contains("like it"), "{refused:#?}");
        assert_eq!(place.objects(&["dlq", "list"]).len(), 3);

        // The steps behind the finished ones may change.
        place.write("job.yml", &workflow(&[PAY, MAIL]));
        assert_eq!(redriven(&place, 3, &["--item", "b"]), "mail r-b\n");
        place.write("job.yml", &workflow(&[&other, "shell: 'true'"]));
        assert_eq!(redriven(&place, 0, &["--restart-items"]), "paid a\npaid c\n");
    }
}

#[test]
fn letters_for_later_that_do_not_fit_are_refused_by_resume() {
    let place = died(&workflow(&[PAY, SHIP, MAIL]), &["a"]);
    redriven(&place, 0, &["--later"]);
    place.write("job.yml", &workflow(&[&PAY.replace("echo pay", "echo paid"), MAIL]));
    place.ends(2, &["resume"]).says("item `a` has finished step 1").says("--restart-items");
    assert_eq!(place.read("log"), "pay a\nship r-a r-a\n");
}

/// The steps of the job have been accepted for other items: the attempt finds out.
#[test]
fn a_letter_that_does_not_fit_dies_without_losing_its_place() {
    let (v1, place) =
        (workflow(&[PAY, SHIP, MAIL]), died(&workflow(&[PAY, SHIP, MAIL]), &["a", "b"]));
    place.write("job.yml", &v1.replace("echo pay", "echo paid"));
    place.ends(3, &["dlq", "retry", "job-1", "--item", "b"]);
    redriven(&place, 0, &["--item", "a", "--later"]);
    place.ends(3, &["resume"]).says("it cannot continue, because its steps were edited");
    place.write("job.yml", &v1);
    assert_eq!(redriven(&place, 3, &["--item", "a"]), "ship r-a r-a\n");
}

#[test]
fn another_payload_and_the_place_of_the_old_one_exclude_each_other() {
    let place = died(&workflow(&[PAY, SHIP, MAIL]), &["a"]);
    place.write("new.json", r#"{ "id": "b" }"#);
    let both = [&RETRY[..], &["--item", "a", "--edit", "new.json"]].concat();
    place.ends(2, &both).says("'--from-failed' cannot be used with '--edit <FILE>'");
    place.write("new.json", r#"{ "id": "a", "n": { "$serde_json::private::Number": "1" } }"#);
    let edit = ["dlq", "retry", "job-1", "--item", "a", "--edit", "new.json"];
    place.ends(2, &edit).says("a key that begins with `$serde_json::private::` is reserved");
    assert_eq!(place.object(&["items", "show", "a"])["payload"]["id"], "a");
}

#[test]
fn a_payload_for_later_is_checked_for_what_the_steps_need() {
    let place = died(&workflow(&[PAY, SHIP, MAIL]), &["a"]);
    place.write("new.json", r#"{ "name": "a" }"#);
    let later = ["dlq", "retry", "job-1", "--item", "a", "--edit", "new.json", "--later"];
    place
        .ends(2, &later)
        .says("new.json has nothing for `${item.id}` of the workflow file: add it");
    assert_eq!(place.objects(&["dlq", "list"]).len(), 1);
    // The file is on another machine.
    let text = place.read("job.yml");
    std::fs::remove_file(place.path("job.yml")).unwrap();
    let named = [&later[..], &["--file", "there.yml"]].concat();
    place.write("there.yml", &text);
    place.ends(2, &named).says("new.json has nothing for `${item.id}`");
    place.ends(0, &later).says("new.json is not checked for what the steps need: ");
    assert_eq!(place.object(&["items", "show", "a"])["payload"]["name"], "a");
}

#[test]
fn a_step_that_is_killed_in_a_re_driven_run_continues_there() {
    for store in stores() {
        let ship = "shell: 'echo ship >> log; [ -e repaired-a ] && { [ -e go ] || sleep 60; }'";
        let place = Place::with(&workflow(&[PAY, ship, MAIL])).items(&["a"]).on(store);
        place.ends(3, &["run", "job.yml"]);
        place.write("repaired-a", "");
        let running = place.spawn(&[&RETRY[..], &["--lease", "2s"]].concat());
        until("the step runs again", || place.read("log").matches("ship").count() == 2);
        running.signal("KILL");
        assert_eq!(running.ended().code, None);
        place.write("go", "");
        place.ends(0, &["resume"]);
        assert_eq!(place.read("log"), "pay a\nship\nship\nship\nmail r-a\n");
    }
}

#[test]
fn a_step_has_its_attempts_its_repairs_and_its_fallback_again() {
    let repaired = "{ shell: 'echo ship >> log; [ -e repaired-a ]', retry_config: { attempts: 2, initial_delay: 1ms }, \
                    on_failure: { shell: 'echo repair >> log' } }";
    let place = died(&workflow(&[PAY, repaired, MAIL]), &["a"]);
    let round = "ship\nship\nrepair\nship\nship\n";
    assert_eq!(place.read("log"), format!("pay a\n{round}"));
    assert_eq!(redriven(&place, 3, &[]), round);

    let replaced = "{ shell: 'echo ship >> log; exit 7', retry_config: { attempts: 1 }, \
                    on_failure: { fallback: { command: 'echo hand ${receipt} >> log; [ -e repaired-a ] && echo h' } }, capture: way }";
    let mail = "shell: 'echo mail ${receipt} ${way} >> log; [ -e mailed ]'";
    let place = died(&workflow(&[PAY, replaced, mail]), &["a"]);
    assert_eq!(redriven(&place, 3, &[]), "ship\nhand r-a\n");
    place.write("repaired-a", "");
    assert_eq!(redriven(&place, 3, &[]), "ship\nhand r-a\nmail r-a h\n");
    // The captures of the fallback are known, too.
    place.write("mailed", "");
    assert_eq!(redriven(&place, 0, &[]), "mail r-a h\n");
}

#[test]
fn a_list_inside_on_success_is_continued_with() {
    let pay = "{ shell: 'echo pay >> log; echo r', capture: receipt, on_success: [\
               { shell: 'echo first >> log; echo f', capture: first }, \
               { shell: 'echo second ${receipt} ${first} >> log; [ -e repaired-a ]' }] }";
    let place = died(&workflow(&[pay, MAIL]), &["a"]);
    place
        .ends(0, &["dlq", "show", "a"])
        .says("continues    at step 2 of `on_success` of step 1, with --from-failed");
    assert_eq!(redriven(&place, 3, &[]), "second r f\n");
    place.write("repaired-a", "");
    assert_eq!(redriven(&place, 0, &[]), "second r f\nmail r\n");
}

/// The rounds of `on_item_failure: retry` begin where the run does.
#[test]
fn rounds_of_a_re_driven_run_do_not_pay_again() {
    let policy = "error_policy: { on_item_failure: retry, retry_config: { max_attempts: 2, backoff: { fixed: { delay: 1ms } } } }\n";
    let place = died(&(workflow(&[PAY, SHIP, MAIL]) + policy), &["a"]);
    assert_eq!(place.read("log"), "pay a\nship r-a r-a\n".repeat(2));
    assert_eq!(redriven(&place, 3, &[]), "ship r-a r-a\n".repeat(2));
}

#[test]
fn an_item_that_ran_out_of_time_has_all_of_it_again() {
    let ship = "shell: 'echo ship >> log; [ -e repaired-a ] || sleep 30'";
    let text = workflow(&[PAY, ship, MAIL])
        .replace("max_parallel", "agent_timeout_secs: 1\n  max_parallel");
    let place = died(&text, &["a"]);
    place.write("repaired-a", "");
    assert_eq!(redriven(&place, 0, &[]), "ship\nmail r-a\n");
}

#[test]
fn a_task_of_a_graph_continues_at_its_failed_step() {
    let place = Place::with(
        "name: job\nmode: graph\ntasks:\n  pay: { shell: 'echo pay >> log', \
         on_success: { shell: 'echo ship >> log; [ -e repaired ]' } }\n  \
         mail: { depends_on: [pay], shell: 'echo mail >> log' }\n",
    );
    place.ends(3, &["run", "job.yml"]);
    place.write("repaired", "");
    assert_eq!(redriven(&place, 0, &[]), "ship\nmail\n");
}

#[test]
fn a_single_step_is_run_again() {
    let place = died(&workflow(&["shell: 'echo one >> log; exit 7'"]), &["a"]);
    assert_eq!(redriven(&place, 3, &[]), "one\n");
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'echo one >> log'\n  - shell: 'echo two >> log; [ -e repaired ]'\n",
    );
    place.ends(1, &["run", "job.yml"]);
    assert_eq!(redriven(&place, 1, &[]), "two\n");
}

#[test]
fn a_letter_keeps_its_place_in_an_export_and_in_a_copy() {
    let place = died(&workflow(&[PAY, SHIP, MAIL]), &["a"]);
    place.ends(0, &["dlq", "export", "-o", "letters.jsonl"]);
    place.ends(0, &["dlq", "import", "letters.jsonl", "--job", "again", "--store", "there.db"]);
    place.ends(0, &["store", "copy", "retry-workflow.db", "there.db", "--job", "job-1"]);
    place.write("repaired-a", "");
    let retry =
        ["dlq", "retry", "again", "--from-failed", "--file", "job.yml", "--store", "there.db"];
    place.ends(0, &retry);
    let continued = "ship r-a r-a\nmail r-a\n";
    assert_eq!(place.read("log"), format!("pay a\nship r-a r-a\n{continued}"));
    assert_eq!(redriven(&place, 0, &["--store", "there.db"]), continued);
}

#[test]
fn the_place_of_a_letter_holds_no_secret() {
    let pay = "{ shell: 'echo pay $TOKEN >> log; echo $TOKEN', capture: receipt }";
    let ship = "{ shell: 'echo ship $TOKEN; exit 7', capture: shipped }";
    let text = workflow(&["shell: 'echo pay >> log'", ship])
        + "env: { TOKEN: { secret: true, value: sesame-1234 } }\n";
    let place = died(&text, &["a"]);
    assert_eq!(redriven(&place, 3, &[]), "");
    place.write("job.yml", &text.replace("- shell: 'echo pay >> log'", &format!("- {pay}")));
    place.ends(3, &["dlq", "retry", "job-1"]);
    let bytes = std::fs::read(place.path("retry-workflow.db")).unwrap();
    let export = place.ends(0, &["dlq", "export"]).out;
    assert!(
        !bytes.windows(6).any(|part| part == b"sesame") && !export.contains("sesame"),
        "{export}"
    );
}

#[test]
fn a_file_that_is_edited_while_an_earlier_job_runs_is_read_again() {
    let place =
        Place::with(&workflow(&["shell: 'echo ${item.id} >> log; [ -e repaired ]'"])).items(&["a"]);
    let other = place.read("job.yml").replace("job", "other").replace(">> log", ">> log; exit 7");
    place.write("other.yml", &other);
    place.ends(3, &["run", "job.yml"]);
    place.ends(3, &["run", "other.yml"]);
    let place = place.script("edit.sh", "sed -i 's/exit 7/true/' other.yml; touch repaired");
    place.write("job.yml", &place.read("job.yml").replace("[ -e repaired ]", "./edit.sh"));
    place.ends(0, &["dlq", "retry", "--all"]).says("job other-1: finished");
}
