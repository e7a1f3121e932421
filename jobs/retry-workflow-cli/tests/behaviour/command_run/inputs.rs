//! Sources of items, and the commands that run before them.

use std::io::Write as _;
use std::process::Stdio;

use super::support::{Place, Running, stores, until};

#[test]
fn setup_runs_once_and_writes_the_input() {
    let place = Place::with(
        "name: job\nsetup:\n- shell: echo setup >> log; printf '{\"id\":\"a\"}\\n{\"id\":\"b\"}\\n' > items.jsonl; test -e ready\n\
         - { shell: 'echo v7', capture: version }\n\
         map:\n  input: items.jsonl\n  agent_template: { shell: 'echo ${item.id} ${version} >> seen' }\n\
         reduce: { shell: 'echo ${map.successful} ${version} >> reduced' }\n",
    );
    place
        .ends(0, &["check", "job.yml"])
        .says("not checked: items.jsonl, which does not exist before `setup` has run");
    place.ends(1, &["run", "job.yml"]).says("to resume: retry-workflow resume job-1");
    place.write("ready", "");
    place.ends(0, &["resume"]).says("2 succeeded, of 2");
    assert_eq!(place.sorted("seen"), ["a v7", "b v7"]);
    assert_eq!(place.read("reduced"), "2 v7\n");
    assert_eq!(place.read("log"), "setup\nsetup\n", "once failed, once done");
}

#[test]
fn a_mistake_in_the_output_of_setup_stops_the_job_which_can_be_resumed() {
    let place = Place::with(
        "name: job\nsetup: { shell: 'test -e items.jsonl || echo \"{\\\"id\\\":1\" > items.jsonl' }\n\
         map:\n  input: items.jsonl\n  agent_template: { shell: 'echo ${item.id} >> seen' }\n",
    );
    place.ends(1, &["run", "job.yml"]).says("items.jsonl:1:").says("retry-workflow resume job-1");
    place.write("items.jsonl", "{\"id\":1}\n");
    place.ends(0, &["resume"]).says("1 succeeded, of 1");
    assert_eq!(place.read("seen"), "1\n");
}

#[test]
fn items_of_a_command_are_worked_on_while_it_runs() {
    // More items than are read at once, most of which start no command.
    let place = Place::with(
        "name: job\nmap:\n  input: ./list.sh\n  agent_template:\n    - { shell: 'echo ${item} >> seen', when: \"${item} matches '^(last|[0-9]{1,2})$'\" }\n",
    )
    .script("list.sh", "seq 1 1500; while [ ! -e go ]; do sleep 0.05; done; echo last");
    place
        .ends(0, &["check", "job.yml"])
        .says("not checked: the items, because a check runs no commands");
    let running = place.spawn(&["run", "job.yml"]);
    until("the first items are done", || place.read("seen").lines().count() > 20);
    place.write("go", "");
    let ran = running.ended();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("1501 succeeded");
    assert_eq!(place.read("seen").lines().count(), 100);
}

#[test]
fn a_command_of_the_input_that_fails_stops_the_job_and_runs_again() {
    let place = Place::with(
        "name: job\nmap:\n  input: { command: './list.sh' }\n  item_id: '${item}'\n  agent_template: { shell: 'echo ${item} >> seen' }\n",
    )
    .script("list.sh", "echo a; test -e go || { echo no more >&2; exit 4; }; echo b");
    place
        .ends(1, &["run", "job.yml"])
        .says("the command of the input failed: exit status 4: no more")
        .says("job.yml:3:21");
    place.write("go", "");
    place.ends(0, &["resume"]).says("2 succeeded, of 2");
    assert_eq!(place.sorted("seen"), ["a", "b"]);
}

#[test]
fn an_input_that_fails_lets_running_items_end_and_runs_on_finish() {
    let place = Place::with(
        "name: job\nmap:\n  input: { command: './list.sh' }\n  max_parallel: 4\n  agent_template: { shell: './work.sh ${item}' }\non_finish: { shell: 'cat \"$RETRY_WORKFLOW_REPORT_FILE\" > report' }\n",
    )
    .script("list.sh", "seq 1200; while [ ! -e begun ]; do sleep 0.05; done; exit 3")
    .script("work.sh", "echo $1 >> begun; sleep 0.3; echo $1 >> ended");
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says("stopped: its items cannot be read: the command of the input failed: exit status 3");
    ran.says("job.yml:3:21").says("resume job-1, which runs the command of its input again");
    assert_eq!(place.sorted("begun"), place.sorted("ended"));
    let status = place.object(&["status"]);
    assert_eq!(status["status"], "stopped", "{status}");
    let report: serde_json::Value = serde_json::from_str(&place.read("report")).unwrap();
    assert!(report["reason"].as_str().unwrap().contains("exit status 3"), "{report}");
}

#[test]
fn an_invalid_priority_from_a_command_is_reported_when_it_is_read() {
    let place = Place::with(
        "name: job\nmap:\n  input: { command: ./list.sh, format: jsonl }\n  priority: '${item.p}'\n  agent_template: { shell: 'echo ${item.id} >> seen' }\n",
    )
    .script("list.sh", "echo '{\"id\":\"a\",\"p\":3}'; echo '{\"id\":\"b\",\"p\":\"soon\"}'");
    place
        .ends(1, &["run", "job.yml"])
        .says(
            "the priority of item 2 of the command's output (line 2, id \"b\") is \"soon\": write",
        )
        .says("job.yml:4:13");
}

#[test]
fn another_rule_for_ids_is_refused_until_the_job_has_all_items() {
    let file = |id: &str| {
        format!(
            "name: job\nmap:\n  input: {{ command: ./list.sh, format: jsonl }}\n{id}  agent_template: {{ shell: 'echo ${{item.n}} >> seen' }}\non_finish: {{ shell: 'cat \"$RETRY_WORKFLOW_REPORT_FILE\" > report' }}\n"
        )
    };
    for store in stores() {
        let place = Place::with(&file(""))
            .on(store)
            .script("list.sh", "cat rows; until [ -e go ]; do sleep 0.05; done");
        let rows = "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n";
        place.write("rows", rows);
        let running = place.spawn(&["run", "job.yml"]);
        until("both have begun", || place.read("seen").lines().count() == 2);
        running.signal("INT");
        assert_eq!(running.ended().code, Some(1));

        place.write("job.yml", &file("  item_id: '${item.n}'\n"));
        for arguments in [&["resume"][..], &["resume", "--restart-items"]] {
            place
                .ends(2, arguments)
                .says("came from their field `id` when the job `job-1` began")
                .says("now come from `item_id: ${item.n}`");
        }
        place.write("job.yml", &file(""));
        place.write("rows", "{\"n\":1}\n{\"n\":2}\n");
        // This rule is known once an item has been read: the job has begun, and is stopped.
        let ran = place.ends(1, &["resume"]);
        ran.says("now come from their contents").says("resume job-1, which runs the command of");
        assert!(place.read("report").contains("now come from their contents"));

        place.write("rows", &rows.replace(":2}", ":3}"));
        place.write("go", "");
        let ran = place.ends(0, &["resume"]);
        ran.says("2 succeeded, of 2").says("items: 1 changed, which stay as they were");
        assert_eq!(place.sorted("seen"), ["1", "2"]);
        // All items are in the store, and the input is not read again.
        place.write("job.yml", &file("  item_id: '${item.n}'\n"));
        place.ends(0, &["resume"]).says("every job in this store has ended");
    }
}

#[test]
fn items_begin_although_the_next_ones_are_slow() {
    for store in stores() {
        let place = Place::with(
            "name: job\nmap:\n  input: '-'\n  agent_template: { shell: 'echo ${item} >> seen' }\n",
        )
        .on(store);
        let mut command = place.command(&["run", "job.yml"]);
        let mut running = Running::spawned(command.stdin(Stdio::piped()));
        let mut stdin = running.stdin();
        for (item, seen) in [("a", "a\n"), ("b", "a\nb\n")] {
            writeln!(stdin, "{item}").unwrap();
            until("it has begun", || place.read("seen") == seen);
        }
        running.signal("INT");
        assert_eq!(running.ended().code, Some(1));
        assert_eq!(place.objects(&["items", "list", "job-1"]).len(), 2);
        drop(stdin);
    }
}

#[test]
fn mistakes_in_items_of_stdin_are_reported_when_they_are_read() {
    let place = Place::with(
        "name: job\nmap:\n  input: '-'\n  filter: 'n > 1'\n  agent_template: { shell: 'echo ${item.n} >> seen' }\n",
    );
    place
        .ends(0, &["check", "job.yml"])
        .says("not checked: the items, because a check does not read stdin");
    let with = |arguments: &[&str], input: &str| {
        let mut child = place.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, told) = with(
        &["run", "job.yml"],
        "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n{\"id\":\"c\",\"n\":3}\n{\"id\":\"b\",\"n\":4}\n",
    );
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("items 2 and 4 (line 4) of stdin have the same id, \"b\""), "{told}");
    assert!(told.contains("resume job-1, with its whole input on stdin again"), "{told}");
    let (code, told) = with(&["resume"], "");
    assert!(code == Some(1) && told.contains("there are no items on stdin"), "{told}");
    let (code, told) = with(&["resume"], "{\"id\":\"b\",\"n\":2}\n{\"id\":\"c\",\"n\":3}\n");
    assert_eq!(code, Some(0), "{told}");
    // A command that was running when the first process stopped runs again.
    let mut seen = place.sorted("seen");
    seen.dedup();
    assert_eq!(seen, ["2", "3"]);
}

#[test]
fn a_job_that_stops_ends_the_command_of_its_input() {
    let place = Place::with(
        "name: job\nmap:\n  input: ./list.sh\n  agent_template: { shell: 'false' }\nerror_policy: { max_failures: 1 }\n",
    )
    .script("list.sh", "echo $$ > pid; seq 1 3000; sleep 600");
    place
        .ends(1, &["run", "job.yml"])
        .says("resume job-1, which runs the command of its input again");
    let pid = place.read("pid");
    let stat = format!("/proc/{}/stat", pid.trim());
    until("the command has ended", || {
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}

#[test]
fn a_number_reaches_commands_and_the_store_digit_for_digit() {
    let numbers = [
        "123456789012345678901234567890",
        "-12345678901234.56789",
        "1.10",
        "0.1000",
        "1e+400",
        "18446744073709551616",
        "7",
    ];
    let items: Vec<_> = numbers
        .iter()
        .enumerate()
        .map(|(at, n)| format!("{{\"id\":\"i{at}\",\"n\":{n}}}\n"))
        .collect();
    let items = items.concat();
    let place = Place::with(
        "name: job\nmap:\n  input: items.jsonl\n  max_parallel: 1\n  agent_template:\n\
         \x20   - shell: 'echo ${item.n} $N $(cat file) >> seen'\n\
         \x20     env: { N: '${item.n}' }\n\
         \x20   - shell: 'echo ${item} >> whole'\n",
    )
    .file("items.jsonl", &items)
    .file("file", "1.10");
    place.ends(0, &["run", "job.yml"]);
    let seen: Vec<_> = numbers.iter().map(|n| format!("{n} {n} 1.10\n")).collect();
    assert_eq!(place.read("seen"), seen.concat());
    assert_eq!(place.read("whole"), items);
    for (at, number) in numbers.iter().enumerate() {
        place.ends(0, &["items", "show", &format!("i{at}")]).says(number);
    }
}

#[test]
fn the_exponent_of_a_number_may_be_written_in_another_way() {
    let place = Place::with(
        "name: job\nmap:\n  input: items.jsonl\n  agent_template: { shell: 'echo ${item.n} >> seen' }\n",
    )
    .file("items.jsonl", "{\"id\":1,\"n\":1e2}\n");
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("seen"), "1e+2\n");
}

#[test]
fn a_quoted_field_of_a_csv_that_never_ends_is_reported_with_its_line() {
    let text = "name: job\nmap: { input: items.csv, item_id: '${item.id}', agent_template: { shell: 'echo ${item.id} >> ran' } }\n";
    let place = Place::with(text);
    for (open, line) in [
        ("id,note\na,\"x\nb,y\nc,z\n", 2),
        ("\u{feff}id,note\na,\"it is \"\"so\"\"\"\nb,\"\"\"\n", 3),
        ("id,note\n\"a,x\nb,y\n", 2),
        ("id,\"note\na,x\n", 1),
    ] {
        place.write("items.csv", open);
        for command in ["check", "run"] {
            let ran = place.ends(2, &[command, "job.yml"]);
            ran.says(&format!("the quoted field that begins in line {line} never ends"));
        }
    }
    for closed in
        ["id,note\na,5\" pipe\nb,\"x\ny\"\n", "id,note\na,\"x\"\"\"\nb,\"\"", "id\na\"\nb"]
    {
        place.write("items.csv", closed);
        place.ends(0, &["check", "job.yml"]);
        place.ends(0, &["run", "job.yml"]).says("2 succeeded, of 2");
    }
}
