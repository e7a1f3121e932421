//! The steps of `map`, edited while items wait for their retries.

use super::support::{Place, stores, until};

const PREPARE: &str = "shell: 'echo prepare ${item.id} >> log'";
const PAY: &str = "{ shell: 'echo pay ${item.id} >> log; exit 7', retry_config: { attempts: 3, initial_delay: 1s } }";
const FIXED: &str = "shell: 'echo fixed ${item.id} >> log'";
const MAIL: &str = "shell: 'echo mail ${item.id} >> log'";

fn workflow(steps: &[&str]) -> String {
    format!(
        "name: job\nmap:\n  input: items.json\n  agent_template:\n    - {}\n",
        steps.join("\n    - ")
    )
}

/// Runs the job until this many lines are in `log`, and stops it.
#[track_caller]
fn stopped_after(lines: usize, place: &Place) {
    let running = place.spawn(&["run", "job.yml"]);
    until("its steps have run", || place.read("log").lines().count() >= lines);
    running.signal("INT");
    assert_eq!(running.ended().code, Some(1));
}

/// A job of one item, whose first step has succeeded, and whose second one waits for its retry.
#[track_caller]
fn begun(steps: &[&str], store: Option<String>) -> Place {
    let place = Place::with(&workflow(steps)).items(&["a"]).on(store);
    stopped_after(2, &place);
    place
}

/// Every command that would continue the job refuses, and runs nothing.
#[track_caller]
fn is_refused(place: &Place, says: &str) {
    let before = place.read("log");
    for arguments in [&["resume"][..], &["resume", "job-1"], &["run", "job.yml", "--continue"]] {
        let ran = place.ends(2, arguments);
        ran.says(says).says("undo the edit").says("--restart-items");
    }
    assert_eq!(place.read("log"), before);
}

#[test]
fn replacing_a_finished_step_is_refused_and_skips_nothing() {
    for store in stores() {
        let place = begun(&[PREPARE, PAY], store);
        place.write("job.yml", &workflow(&[FIXED]));
        is_refused(
            &place,
            "item `a` has finished step 1, `echo prepare \"${item.id}\" >> log`, but step 1 is now \
             `echo fixed \"${item.id}\" >> log`",
        );
        place.ends(0, &["resume", "--restart-items"]).says("1 succeeded, of 1");
        assert_eq!(place.read("log"), "prepare a\npay a\nfixed a\n");
    }
}

#[test]
fn an_edit_that_is_undone_continues_the_job() {
    for store in stores() {
        let place = begun(&[PREPARE, PAY, MAIL], store);
        place.write("job.yml", &workflow(&[FIXED, MAIL]));
        is_refused(&place, "item `a` has finished step 1");
        place.write("job.yml", &workflow(&[PREPARE, FIXED, MAIL]));
        place.ends(0, &["resume"]).says("1 succeeded, of 1");
        assert_eq!(place.read("log"), "prepare a\npay a\nfixed a\nmail a\n");
    }
}

#[test]
fn an_item_continues_after_its_finished_steps_whatever_follows_them_now() {
    let named = "{ name: prepare, shell: 'echo prepare ${item.id} >> log' }";
    let renamed = "{ name: before, shell: 'echo prepare ${item.id} >> log' }";
    let retried = "{ shell: 'echo prepare ${item.id} >> log', timeout: 9m, retry_config: { attempts: 9 }, \
                   max_retry_after: 2h, on_failure: continue }";
    for (before, after, log) in [
        ([PREPARE, PAY], vec![PREPARE, MAIL, FIXED], "mail a\nfixed a\n"),
        ([PREPARE, PAY], vec![PREPARE], ""),
        ([PREPARE, PAY], vec![retried, FIXED], "fixed a\n"),
        ([named, PAY], vec![renamed, FIXED], "fixed a\n"),
        ([named, PAY], vec![PREPARE, FIXED], "fixed a\n"),
    ] {
        let place = begun(&before, None);
        place.write("job.yml", &workflow(&after));
        place.ends(0, &["resume"]).says("1 succeeded, of 1");
        assert_eq!(place.read("log"), format!("prepare a\npay a\n{log}"), "{after:?}");
    }
}

#[test]
fn only_items_that_cannot_continue_start_over() {
    for store in stores() {
        let pay = "{ shell: 'echo pay ${item.id} >> log; test ${item.id} = b', retry_config: { attempts: 2, initial_delay: 1h, backoff: fixed } }";
        let mail = "{ shell: 'echo mail ${item.id} >> log; exit 7', retry_config: { attempts: 2, initial_delay: 1h, backoff: fixed } }";
        let place = Place::with(&workflow(&[PREPARE, pay, mail])).items(&["a", "b"]).on(store);
        stopped_after(5, &place);
        // `a` has finished the first step only; `b` the first two.
        place.write("job.yml", &workflow(&[PREPARE, FIXED]));
        is_refused(&place, "item `b` has finished step 2");
        // An accepted edit stays accepted, also if the job is stopped in between.
        place.ends(1, &["resume", "--restart-items", "--deadline", "1ms"]);
        place.ends(0, &["items", "due", "job-1"]);
        place.ends(0, &["resume"]).says("2 succeeded, of 2");
        let mut log: Vec<_> = place.read("log").lines().skip(5).map(str::to_owned).collect();
        log.sort();
        assert_eq!(log, ["fixed a", "fixed b", "prepare b"]);
    }
}

#[test]
fn an_item_that_starts_over_keeps_its_wait_until_items_due_ends_it() {
    let place = begun(
        &[PREPARE, &PAY.replace("initial_delay: 1s", "initial_delay: 1h, backoff: fixed")],
        None,
    );
    place.write("job.yml", &workflow(&[FIXED]));
    place.ends(1, &["resume", "--restart-items", "--deadline", "200ms"]);
    assert_eq!(place.read("log"), "prepare a\npay a\n");
    place.ends(0, &["items", "due", "job-1"]).says("1 waiting item is due now");
    place.ends(0, &["resume"]).says("1 succeeded, of 1");
    assert_eq!(place.read("log"), "prepare a\npay a\nfixed a\n");
}

#[test]
fn an_edited_step_has_all_its_attempts() {
    let tries = |more: &str| {
        format!(
            "{{ shell: 'echo x >> tries{more}; echo try >> log; exit 7', retry_config: {{ attempts: 2, initial_delay: 1s }} }}"
        )
    };
    let place = begun(&[PREPARE, &tries("")], None);
    place.write("job.yml", &workflow(&[PREPARE, &tries("-again")]));
    place.ends(3, &["resume"]);
    assert_eq!((place.read("tries"), place.read("tries-again")), ("x\n".into(), "x\nx\n".into()));
    // As it was, it has one left.
    let place = begun(&[PREPARE, &tries("")], None);
    place.ends(3, &["resume"]);
    assert_eq!(place.read("tries"), "x\nx\n");
}

#[test]
fn items_of_a_killed_worker_are_checked_too() {
    for store in stores() {
        let pay = "{ shell: 'echo pay ${item.id} >> log; test -e second && sleep 60; touch second; exit 7', \
                   retry_config: { attempts: 3, initial_delay: 100ms } }";
        let place = Place::with(&workflow(&[PREPARE, pay])).items(&["a"]).on(store);
        let running = place.spawn(&["run", "job.yml"]);
        until("the second attempt runs", || place.read("log").lines().count() == 3);
        running.signal("KILL");
        running.ended();
        place.write("job.yml", &workflow(&[FIXED]));
        is_refused(&place, "item `a` has finished step 1");
    }
}

#[test]
fn no_process_joins_a_job_with_other_steps_while_it_runs() {
    for store in stores() {
        let work = "shell: 'echo work >> log; until test -e over; do sleep 0.05; done'";
        let place = Place::with(&workflow(&[work])).items(&["a", "b"]).on(store);
        let running = place.spawn(&["run", "job.yml", "--max-parallel", "1"]);
        until("it runs", || !place.read("log").is_empty());
        place.write("job.yml", &workflow(&[FIXED]));
        for arguments in [&["resume"][..], &["run", "job.yml", "--if-running", "join"]] {
            place.ends(2, arguments).says("is running with the steps as they were before an edit");
        }
        place.write("over", "");
        assert_eq!(running.ended().code, Some(0));
        assert_eq!(place.read("log"), "work\nwork\n");
    }
}

#[test]
fn an_edited_setup_skips_nothing_either() {
    let file = |setup: &str| {
        format!(
            "name: job\nsetup: [{setup}]\nmap: {{ input: items.json, agent_template: [shell: 'echo ${{item.id}} ${{who}} >> log'] }}\n"
        )
    };
    let who = "{ shell: 'echo who >> log; echo me', capture: who }";
    let pay = "shell: 'echo pay >> log; exit 7'";
    let fixed = "shell: 'echo fixed >> log'";
    let place = Place::with(&file(&format!("{who}, {pay}"))).items(&["a"]);
    place.ends(1, &["run", "job.yml"]);
    place.write("job.yml", &file(&format!("{fixed}, {who}")));
    let ran = place.ends(2, &["resume"]);
    ran.says(
        "in setup, job-1/setup has finished step 1, `echo who >> log; echo me`, but step 1 is now",
    );
    place.write("job.yml", &file(&format!("{who}, {fixed}")));
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "who\npay\nfixed\na me\n");
}

#[test]
fn a_step_added_to_a_finished_setup_runs_before_the_items_continue() {
    let file = |setup: &str, item: &str| {
        format!(
            "name: job\nsetup: [{setup}]\nmap: {{ input: items.json, agent_template: [{item}] }}\n"
        )
    };
    let first = "{ shell: 'echo 1 >> log; echo one', capture: one }";
    let second = "{ shell: 'echo 2 >> log; echo two', capture: two }";
    let fails =
        "{ shell: 'echo fails >> log; exit 7', retry_config: { attempts: 2, initial_delay: 1s } }";
    let place = Place::with(&file(first, fails)).items(&["a"]);
    stopped_after(2, &place);
    place.write(
        "job.yml",
        &file(&format!("{first}, {second}"), "shell: 'echo ${one} ${two} >> log'"),
    );
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "1\nfails\n2\none two\n");
}

/// Steps inside a step: what follows its success or its failure.
#[test]
fn lists_inside_a_step_follow_the_same_rule() {
    let inner = |key: &str, steps: &str| match key {
        "on_failure" => format!("{{ shell: 'echo main >> log; exit 7', on_failure: [{steps}] }}"),
        key => format!("{{ shell: 'echo main >> log', {key}: [{steps}] }}"),
    };
    let tell = "shell: 'echo tell >> log'";
    let fails =
        "{ shell: 'echo fails >> log; exit 7', retry_config: { attempts: 2, initial_delay: 1s } }";
    let fixed = "shell: 'echo fixed >> log'";
    let commands = |step: &str| format!("name: job\ncommands: [{step}]\n");
    let graph = |step: &str| {
        format!(
            "name: job\nmode: graph\ntasks: {{ only: {} }}\n",
            step.replacen('{', "{ max_retries: 0, ", 1)
        )
    };
    let map = |step: &str| workflow(&[step]);
    let files: [&dyn Fn(&str) -> String; 3] = [&commands, &graph, &map];
    for (key, code) in [("on_success", 0), ("on_failure", 3)] {
        for (kind, file) in files.iter().enumerate() {
            let code = if kind == 0 && code == 3 { 1 } else { code };
            let step = |steps: &str| file(&inner(key, steps));
            let place = Place::with(&step(&format!("{tell}, {fails}"))).items(&["a"]);
            stopped_after(3, &place);
            place.write("job.yml", &step(fixed));
            let outer = if kind == 1 { "only" } else { "step 1" };
            is_refused(&place, &format!("has finished step 1 of `{key}` of `{outer}`, "));
            place.write("job.yml", &step(&format!("{tell}, {fixed}")));
            place.ends(code, &["resume"]);
            assert_eq!(place.read("log"), "main\ntell\nfails\nfixed\n", "{key} {kind}");
        }
    }
}

#[test]
fn dead_letters_start_over_and_need_no_answer() {
    let place = Place::with(&workflow(&[PREPARE, "shell: 'exit 7'"])).items(&["a"]);
    place.ends(3, &["run", "job.yml"]);
    place.write("job.yml", &workflow(&[FIXED]));
    place.ends(0, &["dlq", "retry", "job-1"]);
    assert_eq!(place.read("log"), "prepare a\nfixed a\n");
}

/// A job that waits for the retry of its last step, which uses a captured output.
#[track_caller]
fn paused(file: &str, lines: usize) -> Place {
    let place = Place::with(file).items(&["a"]);
    stopped_after(lines, &place);
    place
}

/// A step that uses the value, and fails at its first attempt.
fn pays(value: &str) -> String {
    format!(
        "{{ name: pay, shell: 'echo \"pay [{value}]\" >> log; test -e ok', retry_config: {{ attempts: 2, initial_delay: 1h, max_delay: 1h }} }}"
    )
}

/// Resumes a job after its cause is fixed.
#[track_caller]
fn continues(place: &Place, log: &str) {
    place.write("ok", "");
    place.ends(0, &["items", "due", "job-1"]);
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), log);
}

#[test]
fn an_edited_capture_of_a_finished_step_is_refused() {
    let prepares = |more: &str| format!("{{ name: prep, shell: 'echo 42'{more} }}");
    for (before, after, value) in [
        (", capture: c", ", capture: d", "${d}"),
        ("", ", capture: d", "${d}"),
        (", capture: c", "", "1"),
        (", capture: c", ", capture: c, capture_format: json", "${c.x}"),
    ] {
        let place = paused(&workflow(&[&prepares(before), &pays("1")]), 1);
        place.write("job.yml", &workflow(&[&prepares(after), &pays(value)]));
        is_refused(
            &place,
            "has finished step 1, `echo 42`, but the rest of its command or another key, such as `env`, `when`, `capture`",
        );
        place.write("job.yml", &workflow(&[&prepares(before), &pays("2")]));
        continues(&place, "pay [1]\npay [2]\n");
    }
}

#[test]
fn a_step_of_a_chain_may_be_renamed_and_has_captured_its_output_once() {
    let step = |name: &str| format!("{{ name: {name}, shell: 'echo 42', capture: c }}");
    let file = |first: &str, pays: &str| format!("name: job\ncommands: [{first}, {pays}]\n");
    let place = paused(&file(&step("prepare"), &pays("${c}")), 1);
    place
        .write("job.yml", &file(&step("before"), &pays("${c}").replace("name: pay", "name: ship")));
    continues(&place, "pay [42]\npay [42]\n");
    for capture in [", capture: d", ", capture: c, capture_format: json", ""] {
        let place = paused(&file(&step("prepare"), &pays("${c}")), 1);
        place
            .write("job.yml", &file(&step("prepare").replace(", capture: c", capture), &pays("1")));
        let ran = place.ends(2, &["resume"]);
        ran.says(
            "job-1 has finished step 1, `echo 42`, but the rest of its command or another key",
        );
        ran.says("undo the edit, or start a new job");
    }
}

#[test]
fn a_step_has_captured_its_output_before_its_on_success() {
    let prepares = |name: &str, pay: &str| {
        format!("{{ name: prep, shell: 'echo 42', capture: {name}, on_success: [{pay}] }}")
    };
    let chain: fn(&[&str]) -> String =
        |steps| format!("name: job\ncommands: [{}]\n", steps.join(", "));
    for file in [workflow, chain] {
        let place = paused(&file(&[&prepares("c", &pays("${c}"))]), 1);
        let mail = "shell: 'echo \"mail ${d}\" >> log'";
        for after in
            [vec![prepares("d", &pays("${d}"))], vec![prepares("d", &pays("1")), mail.to_owned()]]
        {
            let after: Vec<_> = after.iter().map(String::as_str).collect();
            place.write("job.yml", &file(&after));
            is_refused(
                &place,
                "has finished step 1, `echo 42`, but the rest of its command or another key",
            );
        }
    }
}
