//! Machines without enough descriptors or processes for all items, and without a folder for
//! temporary files.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use super::support::{Place, Ran, Running};

fn place(max_parallel: u32, items: u32, step: &str) -> Place {
    let items: Vec<_> = (1..=items).map(|id| id.to_string()).collect();
    Place::with(&format!(
        "name: job\nmap:\n  input: items.json\n  max_parallel: {max_parallel}\n  agent_template:\n    - {step}\n"
    ))
    .items(&items.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs the command after this line of a shell.
fn ran_after(place: &Place, limit: &str, arguments: &str) -> Ran {
    let program = env!("CARGO_BIN_EXE_retry-workflow");
    let command = place.command(&[]);
    let line = format!("{limit} && exec '{program}' {arguments}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]);
    take_over(&mut shell, &command);
    Ran::from_output(shell.stdin(std::process::Stdio::null()).output().unwrap())
}

/// Runs a command with the folder and the variables of another one.
fn take_over(command: &mut Command, from: &Command) {
    command.current_dir(from.get_current_dir().unwrap());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

#[track_caller]
fn warnings(ran: &Ran) -> usize {
    ran.err.matches("warning: ").count()
}

#[test]
fn the_soft_limit_of_open_files_rises_as_far_as_the_items_need_it() {
    let place = place(100, 150, "shell: 'ulimit -Sn >> limits; sleep 0.3'");
    let ran = ran_after(&place, "ulimit -Sn 64", "run job.yml");
    assert_eq!((ran.code, warnings(&ran)), (Some(0), 0), "{ran:#?}");
    ran.says("150 succeeded, of 150");
    // 3 for each, and 256.
    let limits = place.sorted("limits");
    assert!(limits.iter().all(|limit| limit == "556"), "{limits:?}");
}

#[test]
fn a_limit_that_is_high_enough_stays_as_it_is() {
    let place = place(10, 1, "shell: 'ulimit -Sn > limit'");
    let ran = ran_after(&place, "ulimit -Sn 300", "run job.yml");
    assert_eq!((ran.code, place.read("limit").trim()), (Some(0), "300"), "{ran:#?}");
}

#[test]
fn items_without_file_descriptors_are_requeued() {
    let place = place(100, 150, "exec: ['sleep', '0.1']");
    let ran = ran_after(&place, "ulimit -n 70", "run job.yml");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("150 succeeded, of 150")
        .says("(os error 24): raise the limit of open files (`ulimit -n`)")
        .says("\nitems that could not begin are put back, and fewer run at the same time: ");
    assert!(!ran.err.contains("\\n"), "{ran:#?}");
    // The file for a wait may also have lacked a descriptor, which delays no item.
    let without_file = ran.err.matches("is /dev/null").count();
    assert!(without_file <= 1 && warnings(&ran) == 1 + without_file, "{ran:#?}");
    // No attempt is recorded for those that did not begin.
    let status = place.object(&["status"]);
    assert_eq!(status["counts"]["attempts"], 150, "{status}");
}

#[test]
fn events_report_that_items_could_not_begin() {
    let place = place(100, 120, "exec: ['sleep', '0.1']");
    let ran = ran_after(&place, "ulimit -n 70", "run job.yml --events");
    assert_eq!((ran.code, ran.out.matches("\"event\":\"not_begun\"").count()), (Some(0), 1));
    assert_eq!(ran.err, "");
}

/// A user that has no other processes.
const STRANGER: &str = "61237";

/// Runs the command as an unprivileged user who may have this many processes; `None` if this user
/// cannot become another one.
fn ran_as_stranger(place: &Place, processes: u32) -> Option<Ran> {
    if !fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        let _ =
            writeln!(std::io::stderr(), "skipped: only root can become a user without processes");
        return None;
    }
    fs::set_permissions(place.path("."), Permissions::from_mode(0o777)).unwrap();
    // Folders around the one of the tests may be closed to others.
    let program = place.path("retry-workflow");
    fs::copy(env!("CARGO_BIN_EXE_retry-workflow"), &program).unwrap();
    let mut command = Command::new("setpriv");
    take_over(&mut command, &place.command(&[]));
    command.args(["--reuid", STRANGER, "--regid", STRANGER, "--clear-groups", "prlimit"]);
    command.arg(format!("--nproc={processes}")).args(["./retry-workflow", "run", "job.yml"]);
    Some(Ran::from_output(command.stdin(std::process::Stdio::null()).output().unwrap()))
}

#[test]
fn items_without_processes_are_requeued() {
    let place = place(40, 80, "exec: ['sleep', '0.1']");
    // The limit counts threads as well.
    let Some(ran) = ran_as_stranger(&place, 25) else { return };
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("80 succeeded, of 80")
        .says("(os error 11): raise the limit of processes (`ulimit -u`");
    assert_eq!(warnings(&ran), 1, "{ran:#?}");
}

#[test]
fn a_command_whose_own_fork_fails_is_a_failure() {
    let place = place(2, 1, "exec: ['prlimit', '--nproc=1', 'sh', '-c', 'true | true; exit 9']");
    let Some(ran) = ran_as_stranger(&place, 100) else { return };
    assert_eq!((ran.code, warnings(&ran)), (Some(3), 0), "{ran:#?}");
    ran.says("1 dead letter").says("Cannot fork");
}

#[test]
fn an_item_continues_at_the_command_that_could_not_begin() {
    for steps in [
        "    - shell: 'echo first >> log'\n    - shell: 'cat \"$RETRY_WORKFLOW_ITEM_FILE\"'\n",
        "    - shell: 'echo first >> log; false'\n      on_failure: { fallback: { command: 'cat \"$RETRY_WORKFLOW_ITEM_FILE\"' } }\n",
        "    - shell: 'echo first >> log'\n      on_success: 'cat \"$RETRY_WORKFLOW_ITEM_FILE\"'\n",
        "    - shell: 'echo first >> log; [ -e repaired ]'\n      on_failure: 'touch repaired; cat \"$RETRY_WORKFLOW_ITEM_FILE\"'\n",
    ] {
        let place = Place::with(&format!("map:\n  input: items.json\n  agent_template:\n{steps}"))
            .items(&["a"]);
        let mut command = place.command(&["run", "job.yml"]);
        let mut running = Running::spawned(command.env("TMPDIR", place.path("missing")));
        let line =
            running.line_with("warning: cannot write the file for $RETRY_WORKFLOW_ITEM_FILE");
        assert!(line.is_some_and(|line| line.contains("set TMPDIR to a folder")));
        fs::create_dir(place.path("missing")).unwrap();
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{steps}: {ran:#?}");
        let runs = if steps.contains("repaired") { 2 } else { 1 };
        assert_eq!(place.read("log"), "first\n".repeat(runs), "{steps}");
    }
}

#[test]
fn commands_need_no_folder_for_temporary_files() {
    for (step, seen) in [
        ("exec: ['sh', '-c', 'echo \"$RETRY_WORKFLOW_RETRY_AFTER\" >> seen']", "/dev/null\n"),
        ("shell: 'echo 5 > \"$RETRY_WORKFLOW_RETRY_AFTER\" && echo written >> seen'", "written\n"),
        ("shell: 'echo plain >> seen'", "plain\n"),
    ] {
        let place = place(4, 10, step);
        let mut command = place.command(&["run", "job.yml"]);
        let ran = Ran::from_output(command.env("TMPDIR", "/nonexistent").output().unwrap());
        assert_eq!((ran.code, place.read("seen")), (Some(0), seen.repeat(10)), "{ran:#?}");
        assert_eq!(warnings(&ran), 1, "{step}: {ran:#?}");
        ran.says("warning: cannot write to /nonexistent: ").says("set TMPDIR to another folder");
    }
}

/// Runs a map and this step of its `reduce` without a folder for temporary files.
fn reduced_without_folder(step: &str) -> (Place, Ran) {
    let place = place(1, 2, "shell: 'echo 1'");
    place.write("job.yml", &format!("{}reduce: {{ {step} }}\n", place.read("job.yml")));
    let mut command = place.command(&["run", "job.yml"]);
    let ran = Ran::from_output(command.env("TMPDIR", "/nonexistent").output().unwrap());
    (place, ran)
}

#[test]
fn a_reduce_without_the_results_needs_no_folder_for_temporary_files() {
    for step in [
        "exec: ['sh', '-c', 'echo done >> seen']",
        "shell: 'echo done ${map.successful} >> seen'",
        "shell: 'echo done >> seen', when: '${map.total} == 2'",
    ] {
        let (place, ran) = reduced_without_folder(step);
        assert_eq!((ran.code, place.read("seen").get(..4)), (Some(0), Some("done")), "{ran:#?}");
    }
}

#[test]
fn a_reduce_whose_results_cannot_be_written_fails_and_can_be_resumed() {
    for step in [
        "shell: 'cat \"$RETRY_WORKFLOW_RESULTS_FILE\" >> seen'",
        "shell: 'printf %s ${map.results} >> seen'",
        "exec: ['sh', '-c', 'printf %s \"$1\" >> seen', sh, '${map.results}']",
        "shell: 'printf %s \"$LIST\" >> seen', env: { LIST: '${map.results}' }",
    ] {
        let (place, ran) = reduced_without_folder(step);
        assert_eq!((ran.code, place.read("seen").as_str()), (Some(1), ""), "{step}: {ran:#?}");
        ran.says("2 succeeded, of 2")
            .says("cannot write the results to a temporary file: ")
            .says("set TMPDIR to a folder with room for it");
        place.ends(0, &["resume"]);
        assert_eq!(place.read("seen"), "[1,1]", "{step}");
    }
}

#[test]
fn a_failed_command_without_a_temporary_folder_is_retried_by_its_policy() {
    let step = "exec: ['sh', '-c', 'echo x >> seen; [ $(wc -l < seen) = 2 ]']\n      retry_config: { attempts: 2, initial_delay: 1ms }";
    let place = place(1, 1, step);
    let mut command = place.command(&["run", "job.yml"]);
    let ran = Ran::from_output(command.env("TMPDIR", "/nonexistent").output().unwrap());
    assert_eq!((ran.code, place.read("seen").lines().count()), (Some(0), 2), "{ran:#?}");
}
