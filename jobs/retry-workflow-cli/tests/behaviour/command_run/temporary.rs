//! Temporary files, which hold data of items: they end with the process, however it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::support::{Place, Running, until};

/// A job of one item whose step names its file, and runs until there is a file `end`.
fn place() -> Place {
    let place = Place::with(
        "name: job\nmap:\n  input: items.json\n  agent_template:\n    - shell: './work.sh \"$RETRY_WORKFLOW_ITEM_FILE\"'\n",
    )
    .items(&["a"])
    .script("work.sh", "echo $1 >> paths; while [ ! -e end ] && [ -e job.yml ]; do sleep 0.05; done; cat $1");
    fs::create_dir(place.path("tmp")).unwrap();
    place
}

fn spawn(place: &Place, arguments: &[&str]) -> Running {
    let running = Running::spawned(place.command(arguments).env("TMPDIR", place.path("tmp")));
    let begun = place.read("paths").lines().count();
    until("it runs", || place.read("paths").lines().count() > begun);
    running
}

fn left(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("tmp")).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn kill(id: u32) {
    let id = id.to_string();
    assert!(Command::new("kill").args(["-s", "KILL", &id]).status().unwrap().success());
}

#[test]
fn the_file_of_an_item_is_for_its_owner_alone_and_is_removed_at_the_end() {
    let place = place();
    let running = spawn(&place, &["run", "job.yml"]);
    let path = place.read("paths").trim().to_owned();
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (folder, _) = path.rsplit_once('/').unwrap();
    assert_eq!((mode(&path), mode(folder)), (0o600, 0o700));
    place.write("end", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(left(&place), [""; 0]);
}

#[test]
fn a_second_signal_leaves_no_file_behind() {
    let place = place();
    let mut running = spawn(&place, &["run", "job.yml"]);
    running.signal("INT");
    assert!(running.line_with("press Ctrl-C again to stop at once").is_some());
    running.signal("TERM");
    assert_eq!(running.ended().code, Some(1));
    assert_eq!(left(&place), [""; 0]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_process_leaves_no_file_behind() {
    let place = place();
    let running = spawn(&place, &["run", "job.yml"]);
    kill(running.worker());
    running.ended();
    assert_eq!(left(&place), [""; 0], "its worker was killed");

    let running = spawn(&place, &["resume"]);
    kill(running.id());
    drop(running);
    until("the folder is empty", || left(&place).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn the_next_process_removes_only_leftover_folders() {
    let place = place();
    let mine = ["retry-workflow-old", "retry-workflow-1.tmp", "retry-workflow-1-x.tmp"];
    for name in mine {
        fs::create_dir(place.path("tmp").join(name)).unwrap();
    }
    let running = spawn(&place, &["run", "job.yml"]);
    // Stopped first, because the one that is left would clean up.
    let (keeper, worker) = (running.id(), running.worker());
    let ids = [keeper.to_string(), worker.to_string()];
    assert!(Command::new("kill").args(["-s", "STOP"]).args(&ids).status().unwrap().success());
    kill(worker);
    kill(keeper);
    drop(running);
    assert_eq!(left(&place).len(), 4, "{:?}", left(&place));

    let first = spawn(&place, &["resume", "--lease", "1s"]);
    let (lines, used) = (place.read("paths"), left(&place));
    assert_eq!((lines.lines().count(), used.len()), (2, 4), "{used:?}: the old one is gone");
    // Another one beside it.
    place.write("other.yml", &place.read("job.yml"));
    let second = spawn(&place, &["run", "other.yml"]);
    assert_eq!(left(&place).len(), 5, "{:?}", left(&place));
    place.write("end", "");
    for running in [first, second] {
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    }
    let mut left = left(&place);
    left.sort();
    assert_eq!(left, ["retry-workflow-1-x.tmp", "retry-workflow-1.tmp", "retry-workflow-old"]);
}
