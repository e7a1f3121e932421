//! Files that have changed since their jobs started.

use super::support::Place;

fn commands(commands: &[&str]) -> String {
    format!("name: job\ncommands:\n  - {}\n", commands.join("\n  - "))
}

const FIRST: &str = "shell: 'echo 1 >> log'";
const SECOND: &str = "shell: 'echo 2 >> log'";
const FAILS: &str = "shell: 'exit 7'";
const REPAIRED: &str = "shell: 'echo 3 >> log'";

/// A job of three commands, the third of which has failed.
fn failed() -> Place {
    let place = Place::with(&commands(&[FIRST, SECOND, FAILS]));
    place.ends(1, &["run", "job.yml"]);
    place
}

#[test]
fn a_job_with_edited_finished_commands_is_not_resumed() {
    let new = "shell: 'echo new >> log'";
    for (changed, says) in [
        (
            &[new, FIRST, SECOND, FAILS][..],
            "job-1 has finished step 1, `echo 1 >> log`, but step 1 is now `echo new",
        ),
        (&[SECOND, FAILS], "step 1, `echo 1 >> log`, but step 1 is now `echo 2 >> log`"),
        (&[FIRST, new, FAILS], "step 2, `echo 2 >> log`, but step 2 is now `echo new"),
        (&[FIRST], "has finished step 2, `echo 2 >> log`, which no longer exists"),
        (&[FIRST, SECOND], "`step 3` has begun, but no longer exists"),
    ] {
        let place = failed();
        place.write("job.yml", &commands(changed));
        for arguments in [&["resume"][..], &["dlq", "retry", "job-1"]] {
            let ran = place.ends(2, arguments);
            ran.says(says).says("undo the edit, or start a new job with `run FILE`");
        }
        assert_eq!(place.read("log"), "1\n2\n", "{changed:?}");
        place.write("job.yml", &commands(&[FIRST, SECOND, REPAIRED]));
        place.ends(0, &["resume"]);
        assert_eq!(place.read("log"), "1\n2\n3\n");
    }
}

#[test]
fn failed_and_later_steps_may_be_edited() {
    let place = failed();
    let retried =
        "{ name: two, shell: 'echo 2 >> log', retry_config: { attempts: 9 }, timeout: 9m }";
    let cause = "shell: 'echo cause >> log'";
    place.write("job.yml", &format!("\n\n{}", commands(&[FIRST, retried, cause, FAILS])));
    place.ends(1, &["resume"]).says("`step 4` failed");
    place.write("job.yml", &commands(&[FIRST, retried, cause, REPAIRED, SECOND]));
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "1\n2\ncause\n3\n2\n");
}

#[test]
fn a_reduce_resumes_unchanged() {
    let workflow = |reduce: &str| {
        format!(
            "name: job\nmap: {{ input: items.json, agent_template: [shell: 'true'] }}\nreduce:\n{reduce}"
        )
    };
    let first = "  - shell: 'echo ${map.total} >> log'\n";
    let fails = "  - shell: 'exit 7'\n";
    let place = Place::with(&workflow(&format!("{first}{fails}"))).items(&["a", "b"]);
    place.ends(1, &["run", "job.yml"]);
    place.write("job.yml", &workflow(&format!("  - shell: 'true'\n{first}{fails}")));
    place
        .ends(2, &["resume"])
        .says("has finished step 1, `echo \"${map.total}\" >> log`, but step 1");
    place.write("job.yml", &workflow(&format!("{first}  - shell: 'echo end >> log'\n")));
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "2\nend\n");
}

#[test]
fn steps_of_the_same_name_are_distinguished() {
    let named =
        |name: &str, text: &str| format!("{{ name: '{name}', shell: 'echo {text} >> log' }}");
    for names in [["x", "x", "1 x"], ["1 x", "x", "x"], ["2 x", "x", "x"], ["x", "x", "2 x"]] {
        let [a, b, c] = names.map(|name| named(name, "it"));
        let unnamed = "shell: 'echo it >> log'";
        let place = Place::with(&commands(&[&a, &b, &c, &named("step 5", "it"), unnamed]));
        place.ends(0, &["check", "job.yml"]);
        place.ends(0, &["run", "job.yml"]).says("5 succeeded, of 5");
        assert_eq!(place.read("log").lines().count(), 5, "{names:?}");
    }
}

#[test]
fn a_later_step_of_the_same_name_does_not_change_earlier_ones() {
    let one = "{ name: x, shell: 'echo 1 >> log' }";
    let place = Place::with(&commands(&[one, FAILS]));
    place.ends(1, &["run", "job.yml"]);
    place.write("job.yml", &commands(&[one, REPAIRED, one]));
    place.ends(0, &["resume"]);
    assert_eq!(place.read("log"), "1\n3\n1\n");
}

#[test]
fn a_step_may_be_added_before_a_named_one_that_has_failed() {
    let load = |shell: &str| format!("{{ name: load, shell: '{shell}' }}");
    let place = Place::with(&commands(&[FIRST, &load("exit 7")]));
    place.ends(1, &["run", "job.yml"]).says("`load` failed");
    place.write("job.yml", &commands(&[FIRST, SECOND, &load("echo load >> log")]));
    place.ends(0, &["resume"]).says("3 succeeded");
    assert_eq!(place.read("log"), "1\n2\nload\n");
}

#[test]
fn a_job_of_commands_shows_its_number_of_steps() {
    let place = Place::with(&commands(&[FIRST, FAILS, SECOND, REPAIRED]));
    place.ends(1, &["run", "job.yml"]).says("1 of 4 steps (25 %), 1 failed");
    let status = place.ends(0, &["status"]);
    status.says("steps     4: 1 succeeded, 1 failed").says(" 25 %");
    assert_eq!(place.object(&["status"])["commands"], 4);
}
