//! `check` and `explain FILE`, with the real command.

use crate::command::run;

const GOOD: &str = "\
name: publish
mode: graph
tasks:
  fetch:
    shell: \"./fetch.sh\"
    max_retries: 2
    retry_delay: 2.0
  render:
    shell: \"./render.sh\"
    depends_on: [fetch]
    max_retries: 1
";

fn good_and_bad() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.yml"), GOOD).unwrap();
    let bad = GOOD.replace("[fetch]", "[fetsh]").replace("max_retries: 1", "max_retry: 1");
    std::fs::write(folder.path().join("bad.yml"), bad).unwrap();
    folder
}

#[test]
fn a_good_file_is_ok() {
    let folder = good_and_bad();
    let output = run(folder.path(), &["check", "good.yml"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "good.yml: ok (publish, mode graph)\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn mistakes_are_shown_in_their_places_with_exit_code_2() {
    let folder = good_and_bad();
    let output = run(folder.path(), &["check", "good.yml", "bad.yml", "none.yml", "goods.yml"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(told.starts_with("error: ") && !told.contains("error: error:"), "{told}");
    assert!(told.contains("bad.yml:11:"), "{told}");
    assert!(told.contains("there is no such file\n --> none.yml"), "{told}");
    assert!(told.contains("there is no such file: did you mean `good.yml`?"), "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("good.yml: ok"));
}

#[test]
fn machines_get_an_object_a_file() {
    let folder = good_and_bad();
    let output = run(folder.path(), &["check", "good.yml", "bad.yml", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&objects[0]["ok"], &objects[1]["ok"]), (&true.into(), &false.into()));
    assert!(objects[1]["mistakes"][0]["line"].is_number(), "{told}");
    assert!(output.stderr.is_empty());
}

#[test]
fn the_policies_of_a_file_are_explained_in_turn() {
    let folder = good_and_bad();
    let output = run(folder.path(), &["explain", "good.yml"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.starts_with("tasks, fetch\n3 attempts, exponential (base 2) from 2s"), "{told}");
    assert!(told.contains("\n\ntasks, render\n2 attempts"), "{told}");
    let output = run(folder.path(), &["explain", "bad.yml"]);
    assert_eq!(output.status.code(), Some(2));
    let step = "commands: { shell: x, retry_config: { uncounted: [rate_limit, timeout] } }\n";
    std::fs::write(folder.path().join("uncounted.yml"), step).unwrap();
    let output = run(folder.path(), &["explain", "uncounted.yml"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.ends_with("\n\nuse up no attempt: timeout, rate_limit\n"), "{told}");
    std::fs::write(folder.path().join("lost.yml"), format!("{step}max_lost: 9\n")).unwrap();
    let told = String::from_utf8(run(folder.path(), &["explain", "lost.yml"]).stdout).unwrap();
    assert!(told.ends_with("\n\nworkers that may die with an item alone: 9\n"), "{told}");
    let told = run(folder.path(), &["explain", "lost.yml", "--json"]).stdout;
    assert!(told.ends_with(b"\n{\"max_lost\":9}\n"), "{}", String::from_utf8_lossy(&told));
    let retry = "retry_config: { attempts: 2 }";
    let file = format!("commands: {{ shell: x }}\non_finish: {{ shell: mail, {retry} }}\n");
    std::fs::write(folder.path().join("finish.yml"), file).unwrap();
    let told = String::from_utf8(run(folder.path(), &["explain", "finish.yml"]).stdout).unwrap();
    assert!(told.starts_with("on_finish, step 1\n2 attempts"), "{told}");
    let output = run(folder.path(), &["explain", "uncounted.yml", "--json"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains(r#""uncounted":["timeout","rate_limit"]"#), "{told}");
}

#[test]
fn placeholders_of_other_tools_are_hinted_at() {
    let folder = good_and_bad();
    let told = |step: &str| {
        let text =
            format!("map:\n  input: {{ command: ./list.sh }}\n  agent_template:\n    - {step}\n");
        std::fs::write(folder.path().join("map.yml"), text).unwrap();
        let output = run(folder.path(), &["check", "map.yml"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let variable = told("shell: 'echo $item.id'");
    assert!(variable.contains("write `${item.id}` for the value"), "{variable}");
    assert!(variable.contains("the shell's variable `item` and the text `.id`"), "{variable}");
    let braces = told("shell: 'echo {{ item.id }}'");
    assert!(braces.contains("stays as it is: write `${item.id}`"), "{braces}");
    assert!(told("exec: [echo, '{{item}}']").contains("write `${item}`"));
    for plain in
        ["shell: 'echo ${item.id}'", "shell: 'item=1; echo $item'", "exec: [echo, '{{x}}']"]
    {
        assert!(!told(plain).contains("hint"), "{plain}");
    }
}

#[test]
fn a_hidden_failure_and_code_for_a_program_get_a_hint() {
    let folder = good_and_bad();
    let told = |command: &str| {
        let text = format!(
            "map:\n  input: {{ command: ./list.sh }}\n  agent_template:\n    - shell: '{command}'\n"
        );
        std::fs::write(folder.path().join("map.yml"), text).unwrap();
        let output = run(folder.path(), &["check", "map.yml"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for hidden in ["make ${item} | tee log", "a |& ts && b ${item}", "cat a | logger -t job\n"] {
        assert!(told(hidden).contains("a failure before this pipe is hidden"), "{hidden}");
    }
    for code in ["flock l -c \"x ${item}\"", "script -qec \"x ${item}\" f"] {
        assert!(told(code).contains("passes its argument to a shell"), "{code}");
    }
    for plain in [
        "set -o pipefail; make ${item} | tee log",
        "make | tee log | grep -q ${item}",
        "make || cat ${item}",
        "flock l ./x ${item}",
        "flock l -c x; echo ${item}",
    ] {
        assert!(!told(plain).contains("hint"), "{plain}: {}", told(plain));
    }
}

#[test]
fn a_value_run_as_code_gets_a_hint() {
    let folder = good_and_bad();
    let step = |command: &str| {
        let text = format!(
            "map:\n  input: {{ command: ./list.sh }}\n  agent_template:\n    - shell: '{command}'\n"
        );
        std::fs::write(folder.path().join("map.yml"), text).unwrap();
        let output = run(folder.path(), &["check", "map.yml"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("  hint, not an error: line 4: a shell reads its code")
    };
    for hinted in [
        "echo rm ${item.path} | sh",
        "printf %s ${item} |sudo /bin/bash -x",
        "echo ${item} | xargs -n 1 sh -c \"echo\"",
        "( echo ${item} | dash )",
    ] {
        assert!(step(hinted), "{hinted}");
    }
    for plain in [
        "curl -s https://example.com/install | sh",
        "echo ${item} | sort",
        "echo ${item} | shuf",
        "./fetch.sh ${item} || sh ./tell.sh",
        "echo ${item} | xargs ./import.sh",
    ] {
        assert!(!step(plain), "{plain}");
    }
    let exec = |words: &str| {
        let text = format!(
            "map:\n  input: {{ command: ./list.sh }}\n  agent_template:\n    - exec: {words}\n"
        );
        std::fs::write(folder.path().join("exec.yml"), text).unwrap();
        let output = run(folder.path(), &["check", "exec.yml"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told = String::from_utf8(output.stdout).unwrap();
        told.contains("  hint, not an error: line 4: this is shell code")
    };
    assert!(exec("[sh, -c, 'rm ${item}']") && exec("[/bin/bash, -e, -uc, 'rm ${item}', x]"));
    assert!(!exec("[sh, -c, 'rm \"$1\"', sh, '${item}']") && !exec("[sh, ./rm.sh, '${item}']"));
    assert!(!exec("[grep, -c, '${item}', log]"));
    step("echo ${item} | sh");
    let output = run(folder.path(), &["check", "map.yml", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["hints"][0]["line"], &told["ok"]), (&4.into(), &true.into()), "{told}");
}

#[test]
fn an_invalid_id_is_reported_and_replaced_by_one_of_the_content() {
    let map = "map:\n  input: items.json\n  agent_template: { shell: 'true' }\n";
    for (odd, why) in [
        ("", "is empty"),
        ("a\nb", "contains a line break or the like"),
        (&"x".repeat(300), "is 300 bytes long, and 200 are the most"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let items = serde_json::json!([{ "id": "a" }, { "id": odd }]);
        std::fs::write(folder.path().join("items.json"), items.to_string()).unwrap();
        std::fs::write(folder.path().join("job.yml"), map).unwrap();
        for command in ["check", "run"] {
            let output = run(folder.path(), &[command, "job.yml"]);
            let told = [output.stdout, output.stderr].map(|out| String::from_utf8(out).unwrap());
            let told = told.concat();
            assert_eq!(output.status.code(), Some(0), "{told}");
            assert!(told.contains("hint") && told.contains("the `id` of item 2 of"), "{told}");
            assert!(told.contains(why) && told.contains("come from their contents"), "{told}");
        }
    }
}

#[test]
fn an_input_that_is_not_there_is_a_mistake_if_another_file_has_almost_its_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("files.jsonl"), "{\"id\":1}\n").unwrap();
    let checked = |file: &str| {
        std::fs::write(folder.path().join("job.yml"), file).unwrap();
        let output = run(folder.path(), &["check", "job.yml"]);
        let told = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(told).unwrap())
    };
    let map = "map: { input: fils.jsonl, agent_template: { shell: x } }\n";
    let (code, told) = checked(map);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("there is no file `fils.jsonl`"), "{told}");
    assert!(
        told.contains("did you mean `files.jsonl`?") && told.contains("job.yml:1:15"),
        "{told}"
    );

    // Nothing is like it, or the file may be created.
    let (code, told) = checked(&map.replace("fils", "orders"));
    assert_eq!(code, Some(0), "{told}");
    let why = "not checked: orders.jsonl, which does not exist yet: this file has no `setup` that could \
               create it, so something else has to before `run`";
    assert!(told.contains(why), "{told}");
    let (code, told) = checked(&format!("setup: {{ shell: x }}\n{map}"));
    assert_eq!(code, Some(0), "{told}");
    let why = "not checked: fils.jsonl, which does not exist before `setup` has run";
    assert!(told.contains(why), "{told}");
}
