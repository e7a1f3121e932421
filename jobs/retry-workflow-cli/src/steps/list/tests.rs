//! Tests of lists of steps as items, workflows and handlers run them.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::file::{WorkflowFile, WorkflowPlan};

/// The steps of `commands`, or of `map`, of a file in this folder.
fn steps(folder: &Path, text: &str) -> (Steps, Arc<Workspace>) {
    let file = match WorkflowFile::parse(folder.join("job.yml"), text) {
        Ok(file) => file.with_environment().unwrap(),
        Err(error) => panic!("{error}"),
    };
    let steps = match file.plan {
        WorkflowPlan::Standard(steps) => steps,
        WorkflowPlan::MapReduce(map) => map.steps.clone(),
        WorkflowPlan::Graph(mut tasks) => tasks.remove(0).steps,
    };
    (steps, file.workspace)
}

struct Runner {
    folder: tempfile::TempDir,
    worker: Arc<str>,
}

impl Runner {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), worker: "me".into() }
    }

    async fn attempt(&self, text: &str, scope: Scope, checkpoint: Option<&str>) -> AttemptReport {
        let (steps, workspace) = steps(self.folder.path(), text);
        let cx = ItemContext::new("import-1", "C-1", Arc::clone(&self.worker));
        let terms = AttemptTerms::default();
        steps.attempted(&workspace, scope, checkpoint, &cx, terms).await.report
    }

    async fn run(&self, text: &str) -> AttemptReport {
        self.attempt(text, Scope::default(), None).await
    }

    /// Makes attempts until no retry is requested, without waiting.
    async fn run_through(&self, text: &str) -> (AttemptReport, Vec<Duration>) {
        let mut waits = Vec::new();
        let mut kept = None;
        loop {
            let ended = self.attempt(text, Scope::default(), kept.as_deref()).await;
            match ended.outcome {
                WorkOutcome::Retry { wait, checkpoint } => {
                    waits.push(wait);
                    kept = Some(checkpoint);
                }
                _ => return (ended, waits),
            }
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

fn output(ended: &AttemptReport) -> &str {
    match &ended.outcome {
        WorkOutcome::Succeeded(output) => output.as_deref().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

fn failure(ended: &AttemptReport) -> (String, Reason) {
    match &ended.outcome {
        WorkOutcome::Failed { failure, reason } => (failure.to_string(), *reason),
        other => panic!("{other:?}"),
    }
}

fn labels(ended: &AttemptReport) -> Vec<&str> {
    ended.records.iter().map(|record| record.step.as_deref().unwrap_or("done")).collect()
}

#[tokio::test]
async fn a_step_has_the_output_of_the_one_before_it() {
    let text = "commands:\n- shell: printf 'a b\\n\\n'\n- shell: printf '<%s>' ${last.output}\n";
    let ended = Runner::new().run(text).await;
    assert_eq!(output(&ended), "<a b>");
    assert_eq!(labels(&ended), ["done"]);
}

#[tokio::test]
async fn an_attempt_goes_on_where_the_last_one_stopped() {
    let runner = Runner::new();
    let text = r#"
commands:
  - shell: "echo once >> first; printf kept"
  - name: flaky
    shell: "printf x >> tries; test $(wc -c < tries) -ge 3; printf '%s' ${last.output}"
    retry_config: { attempts: 5, initial_delay: "1s", backoff: fixed }
  - shell: "printf '<%s>' ${last.output}"
"#
    .replace("; printf '%s' ${last.output}", " && printf '%s' ${last.output}");
    let (ended, waits) = runner.run_through(&text).await;
    assert_eq!(output(&ended), "<kept>");
    assert_eq!(waits, [Duration::from_secs(1); 2]);
    assert_eq!(runner.read("first"), "once\n");
}

/// A step that succeeds has no record, but its time is reported, also the time of a fallback.
#[tokio::test]
async fn each_successful_step_records_its_duration() {
    let text = r#"
commands:
  - name: wait
    shell: sleep 0.05
  - shell: "true"
    on_success: { shell: "true" }
  - name: broken
    shell: "false"
    retry_config: { attempts: 1, on_failure: { fallback: { command: "true" } } }
  - name: left out
    shell: "true"
    when: "1 > 2"
"#;
    let ended = Runner::new().run(text).await;
    let steps: Vec<_> = ended.step_times.iter().map(|one| &*one.step).collect();
    assert_eq!(steps, ["wait", "step 2", "step 1", "broken, fallback"]);
    assert!(ended.step_times[0].took >= Duration::from_millis(50), "{:?}", ended.step_times);
    assert_eq!(labels(&ended), ["broken", "done"]);
}

#[tokio::test]
async fn a_failure_names_its_step_and_reason() {
    let text =
        "commands:\n- shell: 'true'\n- name: load\n  shell: echo no such table >&2; exit 3\n";
    let ended = Runner::new().run(text).await;
    assert_eq!(failure(&ended), ("exit status 3: no such table".to_owned(), Reason::Attempts));
    assert_eq!(labels(&ended), ["load"]);
}

#[tokio::test]
async fn matchers_read_the_output_of_the_command() {
    let runner = Runner::new();
    let text = |says: &str| {
        format!(
            "commands:\n- shell: echo {says} >&2; exit 1\n  retry_config: {{ attempts: 2, retry_on: \
             [network, {{ pattern: 'is locked' }}] }}\n"
        )
    };
    let (ended, waits) = runner.run_through(&text("connection refused")).await;
    assert_eq!((failure(&ended).1, waits.len()), (Reason::Attempts, 1));
    let (ended, waits) = runner.run_through(&text("the database is locked")).await;
    assert_eq!((failure(&ended).1, waits.len()), (Reason::Attempts, 1));
    let (ended, waits) = runner.run_through(&text("no such table")).await;
    assert_eq!((failure(&ended).1, waits.len()), (Reason::NotRetryable, 0));
}

#[tokio::test]
async fn the_smaller_timeout_wins_and_is_a_timeout() {
    let text = "commands:\n- shell: sleep 60\n  timeout: 100ms\n  retry_config: { attempts: 2, timeout: 1m, retry_on: [timeout] }\n";
    let (ended, waits) = Runner::new().run_through(text).await;
    assert_eq!(failure(&ended).0, "timed out after 100ms");
    assert_eq!(waits.len(), 1);
    let class = ended.records[0].failure.as_ref().map(|failure| failure.class.as_str());
    assert_eq!(class, Some("timeout"));
}

#[tokio::test]
async fn continue_goes_on_and_the_failure_is_written_down() {
    let text = "commands:\n- shell: exit 1\n  on_failure: continue\n- shell: printf '<%s>' ${last.output}\n";
    let ended = Runner::new().run(text).await;
    assert_eq!(output(&ended), "<>");
    assert_eq!(labels(&ended), ["step 1", "done"]);
}

#[tokio::test]
async fn a_fallback_runs_with_the_error() {
    let runner = Runner::new();
    let text = |command: &str| {
        format!(
            "commands:\n- shell: echo broken >&2; exit 2\n  retry_config:\n    attempts: 1\n    on_failure: {{ fallback: {{ command: \"{command}\" }} }}\n- shell: printf '%s.' ${{last.output}}\n"
        )
    };
    assert_eq!(output(&runner.run(&text("printf %s ${error}")).await), "exit status 2: broken.");
    let ended = runner.run(&text("exit 7")).await;
    assert_eq!(failure(&ended).0, "exit status 7: exit status 2: broken");
    assert_eq!(labels(&ended), ["step 1", "step 1, fallback"]);
}

#[tokio::test]
async fn a_handler_runs_with_its_own_retries_and_then_the_list_ends() {
    let runner = Runner::new();
    let text = r#"
commands:
  - shell: "echo x >> main; echo broken >&2; exit 2"
    on_failure:
      - name: tell
        shell: "printf '%s' ${error} > told; printf x >> tries; test $(wc -c < tries) -ge 2"
        retry_config: { attempts: 3 }
      - shell: "printf done > last"
  - shell: "touch never"
"#;
    let (ended, waits) = runner.run_through(text).await;
    assert_eq!(failure(&ended), ("exit status 2: broken".to_owned(), Reason::Attempts));
    assert_eq!(waits.len(), 1);
    assert_eq!(
        (runner.read("told"), runner.read("last")),
        ("exit status 2: broken".into(), "done".into())
    );
    assert_eq!(runner.read("main"), "x\n");
    assert!(!runner.folder.path().join("never").exists());
}

#[tokio::test]
async fn a_budget_that_ended_with_another_worker_ends_the_item() {
    let runner = Runner::new();
    let text = "commands:\n- shell: echo x >> ran; exit 1\n  retry_config: { attempts: 9, initial_delay: 1ms, retry_budget: 20ms, backoff: fixed }\n";
    let WorkOutcome::Retry { checkpoint, .. } = runner.run(text).await.outcome else { panic!() };
    tokio::time::sleep(Duration::from_millis(50)).await;
    let other = Runner { worker: "other".into(), ..runner };
    let ended = other.attempt(text, Scope::default(), Some(&checkpoint)).await;
    assert_eq!(failure(&ended), ("exit status 1".to_owned(), Reason::Budget));
    assert_eq!(other.read("ran"), "x\n");
}

#[tokio::test]
async fn a_checkpoint_that_cannot_be_read_is_a_failure() {
    for checkpoint in ["", "{", "[]", "{\"done\":-1}", "{\"step\":1}", &"[".repeat(100_000)] {
        let text = "commands:\n- shell: 'true'\n";
        let ended = Runner::new().attempt(text, Scope::default(), Some(checkpoint)).await;
        assert!(failure(&ended).0.contains("cannot read what"), "{checkpoint:.20}");
    }
}

/// Makes one attempt, which is to be retried, and the next one with edited steps.
async fn edited(before: &str, after: &str) -> (Runner, AttemptReport) {
    let runner = Runner::new();
    let left = match runner.run(before).await.outcome {
        WorkOutcome::Retry { checkpoint, .. } => checkpoint,
        other => panic!("{other:?}"),
    };
    let ended = runner.attempt(after, Scope::default(), Some(&left)).await;
    (runner, ended)
}

const FIRST: &str = "- { shell: echo 1 >> log; echo one, capture: first }\n";
const WAITS: &str =
    "- { shell: echo waits >> log; exit 7, retry_config: { attempts: 2, initial_delay: 1s } }\n";

#[tokio::test]
async fn finished_steps_that_were_edited_fail_the_attempt_and_nothing_runs() {
    let before = format!("commands:\n{FIRST}{WAITS}");
    for after in [
        "- shell: echo other >> log\n".to_owned(),
        format!("- shell: echo other >> log\n{FIRST}{WAITS}"),
        // Its output has another name, or another step before it.
        format!("{}{WAITS}", FIRST.replace("capture: first", "capture: second")),
        format!("{}{WAITS}", FIRST.replace(", capture", ", when: true, capture")),
        format!("{}{WAITS}", FIRST.replace(", capture", ", env: { A: b }, capture")),
        format!("{}{WAITS}", FIRST.replace(", capture", ", on_success: echo then, capture")),
    ] {
        let (runner, ended) = edited(&before, &format!("commands:\n{after}")).await;
        let (message, _) = failure(&ended);
        assert!(
            message.contains("has finished step 1, `echo 1 >> log; echo one`, but"),
            "{message}"
        );
        assert_eq!(runner.read("log"), "1\nwaits\n", "{after}");
    }
}

#[tokio::test]
async fn name_retries_and_spelling_of_a_finished_step_may_change() {
    let before = format!("commands:\n{FIRST}{WAITS}");
    let next = "- shell: printf '<%s>' ${first}\n";
    for first in [
        FIRST.to_owned(),
        FIRST.replace("{ shell", "{ name: first, shell"),
        FIRST.replace(", capture", ", timeout: 9m, retry_config: { attempts: 9 }, capture"),
        FIRST.replace(", capture", ", max_retry_after: 9h, on_failure: continue, capture"),
        "- capture: first\n  shell: 'echo 1 >> log; echo one'\n".to_owned(),
    ] {
        let (runner, ended) = edited(&before, &format!("commands:\n{first}{next}")).await;
        assert_eq!(output(&ended), "<one>");
        assert_eq!(runner.read("log"), "1\nwaits\n", "{first}");
    }
}

#[tokio::test]
async fn an_edited_step_has_fresh_repairs_and_none_of_the_old_ones() {
    let step = |shell: &str| {
        format!(
            "commands:\n- shell: echo {shell} >> log; exit 7\n  on_failure: {{ shell: echo repair >> log; \
             test $(grep -c repair log) -ge 3, retry_config: {{ attempts: 2, initial_delay: 1s }} }}\n"
        )
    };
    // It waits inside the repair of a step that has failed.
    let (runner, ended) = edited(&step("call"), &step("edited")).await;
    assert!(matches!(ended.outcome, WorkOutcome::Retry { .. }), "{ended:?}");
    assert_eq!(runner.read("log"), "call\nrepair\nedited\nrepair\n");
    let (runner, ended) = edited(&step("call"), &step("call")).await;
    assert!(matches!(ended.outcome, WorkOutcome::Failed { .. }), "{ended:?}");
    assert_eq!(runner.read("log"), "call\nrepair\nrepair\n");
}

#[tokio::test]
async fn a_step_that_had_begun_may_be_removed() {
    let (runner, ended) =
        edited(&format!("commands:\n{FIRST}{WAITS}"), &format!("commands:\n{FIRST}")).await;
    assert_eq!(output(&ended), "one");
    assert_eq!(runner.read("log"), "1\nwaits\n");
}

/// Steps that have succeeded are done, even while the steps that follow them run.
#[tokio::test]
async fn a_step_is_finished_once_its_on_success_has_begun() {
    let step = |shell: &str, then: &str| {
        format!("commands:\n- shell: echo {shell} >> log\n  on_success:\n  {then}")
    };
    let (runner, ended) = edited(&step("a", WAITS), &step("b", WAITS)).await;
    assert!(
        failure(&ended).0.contains("it has finished step 1, `echo a >> log`, but"),
        "{ended:?}"
    );
    assert_eq!(runner.read("log"), "a\nwaits\n");
    let (runner, ended) = edited(&step("a", WAITS), "commands:\n- shell: echo b\n").await;
    assert!(
        failure(&ended).0.contains("it has finished step 1, `echo a >> log`, but"),
        "{ended:?}"
    );
    assert_eq!(runner.read("log"), "a\nwaits\n");
    // Its following steps may change: they are not done.
    let (runner, ended) = edited(&step("a", WAITS), &step("a", FIRST)).await;
    assert_eq!(output(&ended), "");
    assert_eq!(runner.read("log"), "a\nwaits\n1\n");
    let (runner, ended) = edited(&step("a", WAITS), "commands:\n- shell: echo a >> log\n").await;
    assert_eq!(output(&ended), "");
    assert_eq!(runner.read("log"), "a\nwaits\n");
}

#[tokio::test]
async fn an_agent_gets_the_prompt_as_one_argument_and_no_shell_reads_it() {
    use std::os::unix::fs::PermissionsExt;

    let runner = Runner::new();
    let agent = runner.folder.path().join("agent");
    std::fs::write(&agent, "#!/bin/sh\nfor x; do printf '<%s>' \"$x\"; done\n").unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "agent: {{ program: {agent:?}, args: [-p] }}\nmap:\n  input: x.json\n  agent_template:\n  - claude: \"Look at ${{item.name}}; $HOME `id` $${{x}}\"\n"
    );
    let item = Some(Arc::new(json!({ "name": "$(touch pwned)\n\"'" })));
    let ended = runner.attempt(&text, Scope { item, ..Scope::default() }, None).await;
    assert_eq!(output(&ended), "<-p><Look at $(touch pwned)\n\"'; $HOME `id` ${x}>");
}

#[tokio::test]
async fn a_missing_agent_is_named() {
    let text = "agent: { program: no-such-agent }\ncommands:\n- claude: hello\n";
    let said = failure(&Runner::new().run(text).await).0;
    assert!(said.starts_with("cannot start `no-such-agent`"), "{said}");
}

#[tokio::test]
async fn a_value_too_large_for_an_argument_is_passed_in_a_file() {
    let text =
        |step: &str| format!("map:\n  input: x.json\n  agent_template:\n  - shell: '{step}'\n");
    let runner = Runner::new();
    let item = Some(Arc::new(json!("x".repeat(10_000_000))));
    let scope = Scope { item, ..Scope::default() };
    let said = failure(&runner.attempt(&text("env echo ${item}"), scope.clone(), None).await).0;
    assert!(
        said.contains("10000000 bytes") && said.contains("$RETRY_WORKFLOW_ITEM_FILE"),
        "{said}"
    );
    let step = text("wc -c < \"$RETRY_WORKFLOW_ITEM_FILE\"; echo \"$RETRY_WORKFLOW_ITEM_FILE\"");
    let ended = runner.attempt(&step, scope, None).await;
    let (size, path) = output(&ended).split_once('\n').unwrap();
    assert_eq!(size.trim(), "10000002");
    assert!(!Path::new(path).exists(), "{path} is left");
}

#[tokio::test]
async fn a_nul_in_a_value_fails_the_step() {
    let text = "map:\n  input: x.json\n  agent_template:\n  - shell: echo ${item}\n";
    let item = Some(Arc::new(json!("a\0b")));
    let ended = Runner::new().attempt(text, Scope { item, ..Scope::default() }, None).await;
    assert!(failure(&ended).0.contains("NUL"));
}

#[tokio::test]
async fn a_large_output_is_kept_in_part() {
    let text = "commands:\n- shell: head -c 10000000 /dev/zero | tr '\\0' '\\1'\n- shell: exit 1\n  retry_config: { attempts: 2 }\n";
    let WorkOutcome::Retry { checkpoint, .. } = Runner::new().run(text).await.outcome else {
        panic!()
    };
    assert!(checkpoint.len() < 7 * 1024 * 1024);
}

#[tokio::test]
async fn a_command_receives_its_item_in_the_environment() {
    let text = r#"
        commands:
          - shell: |
              echo "$RETRY_WORKFLOW_JOB $RETRY_WORKFLOW_ITEM $RETRY_WORKFLOW_CORRELATION_ID"
              echo "$RETRY_WORKFLOW_RUN $RETRY_WORKFLOW_ATTEMPT $RETRY_WORKFLOW_RETRY_COUNT"
              [ "$RETRY_WORKFLOW_RETRY_COUNT" = 2 ]
            retry_config: { attempts: 3, initial_delay: "1ms" }
    "#;
    let (ended, waits) = Runner::new().run_through(text).await;
    assert_eq!(waits.len(), 2);
    let WorkOutcome::Succeeded(Some(output)) = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(output, "import-1 C-1 import-1/C-1\n0 1 2");
}

#[tokio::test]
async fn a_prompt_that_looks_like_an_option_is_refused() {
    let text = |args: &str| {
        format!(
            "agent: {{ program: echo, args: {args} }}\nmap:\n  input: x.json\n  agent_template:\n  - claude: \"${{item}}\"\n"
        )
    };
    let scope = || Scope { item: Some(Arc::new(json!("--version"))), ..Scope::default() };
    let ended = Runner::new().attempt(&text("[-p]"), scope(), None).await;
    let told = format!("{:?}", ended.outcome);
    assert!(told.contains("start the prompt with a word"), "{told}");
    let ended = Runner::new().attempt(&text("[-p, --]"), scope(), None).await;
    let told = format!("{:?}", ended.outcome);
    assert!(!told.contains("begin the prompt"), "{told}");
}

#[tokio::test]
async fn events_of_a_step_have_its_name() {
    use std::sync::Mutex;

    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    let listening = retry_runtime::on_event(move |event| {
        // Other tests retry steps at the same time.
        if let retry_runtime::Event::Retry { name, attempt, .. } = event
            && name.as_str() == "call the warehouse"
        {
            listener.lock().unwrap().push(*attempt);
        }
    });
    let text = "commands:\n  - shell: exit 1\n    name: call the warehouse\n    \
                retry_config: { attempts: 3, initial_delay: 1ms }\n";
    Runner::new().run_through(text).await;
    listening.stop();
    assert_eq!(*heard.lock().unwrap(), [1, 2]);
}

/// A file with a step that logs each call and succeeds once `repaired` exists, and with this
/// repair.
fn repaired(on_failure: &str) -> String {
    format!(
        "commands:\n- shell: echo call >> calls; test -e repaired\n  retry_config: {{ attempts: 2, \
         initial_delay: 1s, backoff: fixed }}\n  on_failure: {on_failure}\n- shell: echo next\n"
    )
}

#[tokio::test]
async fn a_repair_runs_after_the_retries_and_then_the_step_restarts() {
    let runner = Runner::new();
    let text = repaired(
        "{ shell: 'echo repair >> calls; test $(grep -c repair calls) -lt 2 || touch repaired', max_attempts: 3 }",
    );
    let (ended, waits) = runner.run_through(&text).await;
    assert_eq!(output(&ended), "next");
    let calls = "call call repair call call repair call";
    assert_eq!(runner.read("calls").split_whitespace().collect::<Vec<_>>().join(" "), calls);
    assert_eq!(waits, [Duration::from_secs(1); 2], "each round waits by its own");
}

#[tokio::test]
async fn a_failed_repair_ends_the_step_or_is_ignored() {
    for (on_failure, calls, goes_on) in [
        ("'echo repair >> calls'", "ccRcc", false),
        ("{ shell: 'echo repair >> calls' }", "ccRcc", false),
        ("{ shell: 'echo repair >> calls', max_attempts: 2 }", "ccRccRcc", false),
        ("{ shell: 'echo repair >> calls', fail_workflow: false }", "ccRcc", true),
        // A failed repair counts as well; there is nothing new to try.
        ("{ shell: 'echo repair >> calls; false', max_attempts: 3 }", "ccRRR", false),
        ("true", "cc", true),
        ("false", "cc", false),
        ("[{ shell: 'echo repair >> calls; touch repaired' }]", "ccR", false),
    ] {
        let runner = Runner::new();
        let (ended, _) = runner.run_through(&repaired(on_failure)).await;
        let made: String = runner
            .read("calls")
            .lines()
            .map(|line| if line == "call" { 'c' } else { 'R' })
            .collect();
        assert_eq!(made, calls, "{on_failure}");
        assert_eq!(matches!(ended.outcome, WorkOutcome::Succeeded(_)), goes_on, "{on_failure}");
    }
}

#[tokio::test]
async fn a_repair_has_retries_and_the_place_in_both_loops_is_kept() {
    let runner = Runner::new();
    let text = repaired(
        "{ shell: 'echo repair >> calls; test $(grep -c repair calls) -ge 3 && touch repaired', \
         retry_config: { attempts: 2, initial_delay: 5s, backoff: fixed }, max_attempts: 2 }",
    );
    let (ended, waits) = runner.run_through(&text).await;
    assert_eq!(output(&ended), "next");
    let waits: Vec<_> = waits.iter().map(Duration::as_secs).collect();
    assert_eq!(waits, [1, 5], "the step's, the repair's; its second run helps at once");
    assert_eq!(runner.read("calls"), "call\ncall\nrepair\nrepair\nrepair\ncall\n");
}

#[tokio::test]
async fn a_handler_sees_the_output_of_the_failed_attempt() {
    let text = "commands:\n- shell: echo before\n- shell: echo out; echo err >&2; exit 2\n  on_failure:\n    \
                shell: printf '%s' ${shell.output} > seen; printf '%s' ${last.output} >> seen\n";
    let runner = Runner::new();
    runner.run_through(text).await;
    assert_eq!(runner.read("seen"), "out\nerrbefore");
    let text = "commands:\n- shell: echo one\n- shell: printf '<%s>' ${shell.output}\n";
    assert_eq!(output(&runner.run(text).await), "<one>");
}

#[tokio::test]
async fn captured_values_are_available_in_conditions_and_commands() {
    let text = r#"
commands:
  - { shell: "echo main", capture: branch }
  - { shell: "echo ' 81 '", capture_output: lines, capture_format: number }
  - { shell: "echo no >&2; exit 3", capture: probe, on_failure: continue }
  - { shell: 'echo "{\"a\": [1, {\"b\": \"x y\"}]}"', capture: doc, capture_format: json }
  - { shell: "echo a; echo b", capture: files, capture_format: lines }
  - { shell: "echo left out", when: "probe.success" }
  - shell: printf '%s|' ${branch} ${lines} ${probe.success} ${probe.exit_code} ${probe.stderr} ${doc.a[1].b} ${files[1]} ${last.output}
    when: "(${lines} >= 80 || ${probe.success}) && branch == 'main'"
"#;
    let ended = Runner::new().run(text).await;
    assert_eq!(output(&ended), "main|81|false|3|no|x y|b|a\nb|");
}

#[tokio::test]
async fn an_output_of_another_format_fails_its_step() {
    let text = "commands:\n- { shell: echo x, capture: n, capture_format: number }\n";
    let (message, _) = failure(&Runner::new().run(text).await);
    assert_eq!(message, "its output, to be captured as `n`, is not a number");
    // The step's own retries apply.
    let text = "commands:\n- { shell: 'echo x >> tries; wc -l < tries | grep 2 || echo x', capture: n, \
                capture_format: number, retry_config: { attempts: 3, initial_delay: 1s } }\n";
    let (ended, waits) = Runner::new().run_through(text).await;
    assert_eq!((output(&ended), waits.len()), ("2", 1));
}

#[tokio::test]
async fn a_condition_that_cannot_be_decided_fails_its_step() {
    let text = "commands:\n- { shell: echo 5, capture: n }\n- { shell: echo, when: 'n > 3' }\n";
    let (message, reason) = failure(&Runner::new().run(text).await);
    assert!(message.contains("cannot evaluate") && message.contains("capture_format: number"));
    assert_eq!(reason, Reason::NotRetryable);
}

#[tokio::test]
async fn on_success_runs_after_the_step_and_can_fail_it() {
    let runner = Runner::new();
    let text = "commands:\n- shell: echo mine\n  on_success:\n    - shell: test $(wc -l < tries) -ge 2\n      \
                retry_config: { attempts: 2, initial_delay: 1s }\n- shell: printf '<%s>' ${last.output}\n";
    let text = text.replace("test $(wc", "echo x >> tries; test $(wc");
    let (ended, waits) = runner.run_through(&text).await;
    assert_eq!((output(&ended), waits.len()), ("<mine>", 1));
    let text = "commands:\n- { shell: echo mine, on_success: 'echo told; exit 4', on_failure: continue }\n";
    assert!(failure(&runner.run(text).await).0.starts_with("exit status 4"));
}

#[tokio::test]
async fn variables_and_folders_come_from_the_file_and_the_step() {
    let runner = Runner::new();
    std::fs::create_dir(runner.folder.path().join("sub")).unwrap();
    std::fs::write(runner.folder.path().join(".env"), "A=file\nB=file\n").unwrap();
    let text = r#"
env: { B: 2, C: true, D: top }
env_files: [".env"]
map:
  input: x.json
  agent_template:
    - shell: echo "$A $B $C $D $E $(basename "$PWD")"
      env: { D: step, E: "<${item}>" }
      working_dir: "${item}"
"#;
    let item = Some(Arc::new(json!("sub")));
    let ended = runner.attempt(text, Scope { item, ..Scope::default() }, None).await;
    assert_eq!(output(&ended), "file 2 true step <sub> sub");
}

#[tokio::test]
async fn an_output_with_a_secret_is_masked() {
    let runner = Runner::new();
    let text = r#"
env: { TOKEN: { secret: true, value: "s3cret" } }
commands:
  - shell: "echo $TOKEN"
  - shell: "echo $TOKEN failed >&2; exit 1"
    retry_config: { attempts: 2, initial_delay: 1s }
    on_failure: { shell: "echo ${shell.output} > seen" }
"#;
    let (ended, _) = runner.run_through(text).await;
    let told = format!("{ended:?}");
    assert!(!told.contains("s3cret") && told.contains("*** failed"), "{told}");
    assert_eq!(runner.read("seen"), "*** failed\n");
    let text = "env: { TOKEN: { secret: true, value: s3cret } }\ncommands:\n- shell: echo $TOKEN\n";
    assert_eq!(output(&runner.run(text).await), "***");
}

#[tokio::test]
async fn a_secret_that_a_later_step_would_get_fails_its_step() {
    let secret = "env: { TOKEN: { secret: true, value: s3cret } }\ncommands:\n";
    for (steps, by) in [
        ("- { shell: echo $TOKEN, capture: token }", "token"),
        (
            r#"- { shell: 'echo "[\"\u0073$(echo $TOKEN | cut -c2-)\"]"', capture: a, capture_format: json }"#,
            "a",
        ),
        ("- { shell: 'echo s3; echo cret; echo s3cret', capture: a, capture_format: lines }", "a"),
        ("- shell: echo $TOKEN\n- shell: echo ${last.output}", "last.output"),
        ("- shell: echo $TOKEN\n- shell: echo ${shell.output}", "last.output"),
        ("- shell: echo $TOKEN\n- { shell: echo, when: '${last.output} == 1' }", "last.output"),
        (
            "- shell: echo $TOKEN\n- { shell: echo, when: false }\n- shell: echo ${last.output}",
            "last.output",
        ),
        ("- { shell: echo $TOKEN, on_success: 'echo ${last.output}' }", "last.output"),
        (
            "- shell: echo $TOKEN\n- { shell: 'false', on_failure: [shell: 'echo ${last.output}'] }",
            "last.output",
        ),
        (
            "- { shell: 'false', retry_config: { attempts: 1, on_failure: { fallback: { command: echo $TOKEN } } } }\n\
             - shell: echo ${last.output}",
            "last.output",
        ),
    ] {
        let (ended, waits) = Runner::new().run_through(&format!("{secret}{steps}\n")).await;
        let (message, _) = failure(&ended);
        let says = format!("which `${{{by}}}` would pass on: write it to a file");
        assert!(message.contains(&says) && !message.contains("s3cret"), "{steps}: {message}");
        assert!(waits.is_empty(), "{steps}");
    }
    for steps in [
        "- { shell: echo $TOKEN, retry_config: { attempts: 3 } }\n- shell: echo\n- shell: echo ${last.output}",
        "- shell: echo $TOKEN\n- { shell: echo, on_failure: [shell: 'echo ${shell.output}'] }",
        "- shell: echo $TOKEN\n- { shell: echo 1, on_success: 'echo ${last.output}' }",
    ] {
        let ended = Runner::new().run(&format!("{secret}{steps}\n")).await;
        assert!(matches!(ended.outcome, WorkOutcome::Succeeded(_)), "{steps}: {ended:?}");
    }
}

#[tokio::test]
async fn a_step_that_would_pass_on_a_secret_is_not_retried() {
    let text = "env: { TOKEN: { secret: true, value: s3cret } }\ncommands:\n- { shell: echo $TOKEN, capture: token, \
                retry_config: { attempts: 3 }, on_failure: continue }\n- shell: printf '<%s>' ${token} ${token.success}\n";
    let (ended, waits) = Runner::new().run_through(text).await;
    assert_eq!((output(&ended), waits.len()), ("<><false>", 0));
}

#[tokio::test]
async fn errors_that_quote_a_value_mask_secrets() {
    let secret = "env: { TOKEN: { secret: true, value: s3cret } }\nmap:\n  input: x.json\n  agent_template:\n";
    for step in ["when: '${item} > 3'", "working_dir: '${item}'"] {
        let text = format!("{secret}  - {{ shell: x, {step} }}\n");
        let scope = Scope { item: Some(Arc::new(json!("s3cret"))), ..Scope::default() };
        let told = format!("{:?}", Runner::new().attempt(&text, scope, None).await);
        assert!(told.contains("***") && !told.contains("s3cret"), "{told}");
    }
}

#[tokio::test]
async fn all_steps_of_an_item_have_one_limit_of_time_and_waits_are_none_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "commands:\n- shell: sleep 0.3\n- { shell: 'sleep 30; echo late', on_failure: continue }\n";
    let (steps, workspace) = steps(folder.path(), text);
    let cx = ItemContext::new("import-1", "C-1", "me");
    let limit = Some(Duration::from_millis(800));
    let terms = AttemptTerms { limit, ..AttemptTerms::default() };
    let began = std::time::Instant::now();
    let ended = steps.attempted(&workspace, Scope::default(), None, &cx, terms).await.report;
    let (message, _) = failure(&ended);
    assert!(message.contains("exceeded the `agent_timeout_secs` of the map, 800ms"), "{message}");
    assert!(began.elapsed() < Duration::from_secs(10));
    // Earlier run time counts.
    let kept = r#"{ "done": [], "ran": { "secs": 5, "nanos": 0 }, "outputs": {}, "run": 0 }"#;
    let ended = steps.attempted(&workspace, Scope::default(), Some(kept), &cx, terms).await.report;
    assert!(failure(&ended).0.contains("agent_timeout_secs"));
}

/// The wait for which the job's breaker holds after an attempt, with whether it is a rate limit.
async fn holds(commands: &str) -> Option<(u64, bool)> {
    let asked = Runner::new().run(&format!("commands:\n{commands}")).await.asked_wait;
    asked.map(|asked| (asked.wait.as_secs(), asked.is_rate_limit))
}

fn failing(wait: &str, said: &str) -> String {
    format!("shell: echo {wait} > \"$RETRY_WORKFLOW_RETRY_AFTER\"; echo '{said}' >&2; exit 1")
}

#[tokio::test]
async fn the_wait_of_a_failed_step_holds_the_breaker_for_limits_and_server_errors() {
    for (wait, said, expected) in [
        ("30", "429 Too Many Requests", Some((30, true))),
        ("30", "HTTP/1.1 503 Service Unavailable", Some((30, false))),
        // The command has written the wait itself, and nothing contradicts it.
        ("30", "", Some((30, true))),
        ("0", "429 Too Many Requests", None),
        ("soon", "429 Too Many Requests", None),
        ("30", "deadlock detected", None),
        ("30", "connection refused", None),
    ] {
        let step = failing(wait, said);
        assert_eq!(holds(&format!("- {step}\n")).await, expected, "{wait} {said}");
        let retried = format!("- {step}\n  retry_config: {{ attempts: 2, retry_on: [timeout] }}\n");
        assert_eq!(holds(&retried).await, expected, "not retried: {wait} {said}");
    }
    let limited = failing("7200", "429 Too Many Requests");
    let too_long = format!("- {limited}\n  retry_config: {{ attempts: 2 }}\n");
    assert_eq!(holds(&too_long).await, Some((7_200, true)), "longer than `max_retry_after`");
}

#[tokio::test]
async fn the_last_failure_of_an_attempt_decides_how_the_breaker_counts_it() {
    let limited = failing("30", "429 Too Many Requests");
    let skipped = format!("- {limited}\n  on_failure: continue\n");
    assert_eq!(holds(&format!("{skipped}- shell: 'true'\n")).await, Some((30, true)));
    assert_eq!(holds(&format!("{skipped}- shell: 'false'\n")).await, Some((30, false)));
    let handled = format!("- {}\n  on_failure: {{ {limited} }}\n", failing("60", "HTTP/1.1 503"));
    assert_eq!(holds(&handled).await, Some((60, true)));
}
