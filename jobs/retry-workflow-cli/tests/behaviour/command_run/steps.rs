//! Steps after a failed command; agents; time limits.

use std::time::Duration;

use super::support::{Place, Ran};

/// A command that fails, with this appended to its step; then one that records its input.
fn then(on_failure: &str) -> Place {
    let workflow = format!(
        "name: job\ncommands:\n  - shell: 'echo out; echo no luck >&2; exit 7'\n{on_failure}\n  - shell: 'echo \"[$(printf %s ${{last.output}})]\" > second'\n"
    );
    Place::with(&workflow)
}

#[test]
fn a_failure_ends_the_job_unless_configured_otherwise() {
    for stop in ["", "    on_failure: stop", "    retry_config: { attempts: 1, on_failure: stop }"]
    {
        let place = then(stop);
        let ran = place.ends(1, &["run", "job.yml"]);
        ran.says("job job-1: stopped: `step 1` failed: exit status 7: no luck");
        ran.says("to resume: retry-workflow resume job-1");
        assert_eq!(place.read("second"), "", "{stop}");
    }
}

#[test]
fn the_job_continues_after_an_ignored_failure() {
    for go_on in
        ["    on_failure: continue", "    retry_config: { attempts: 1, on_failure: continue }"]
    {
        let place = then(go_on);
        place.ends(0, &["run", "job.yml"]);
        assert_eq!(place.read("second"), "[]\n", "{go_on}");
    }
}

#[test]
fn a_fallback_takes_the_place_of_the_command() {
    let own = "    on_failure: { fallback: { command: 'echo saved' } }";
    let beside =
        "    retry_config: { attempts: 1, on_failure: { fallback: { command: 'echo saved' } } }";
    for fallback in [own, beside] {
        let place = then(fallback);
        place.ends(0, &["run", "job.yml"]);
        assert_eq!(place.read("second"), "[saved]\n", "{fallback}");
    }
    let place = then("    on_failure: { fallback: { command: 'echo worse >&2; exit 9' } }");
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says("exit status 9: worse: exit status 7: no luck");
}

#[test]
fn handlers_of_a_failure_receive_it_and_the_job_ends() {
    let place = then(
        "    on_failure:\n      - shell: 'echo ${error} >> handled'\n        retry_config: { attempts: 2 }\n      - shell: 'echo again >> handled'",
    );
    place.ends(1, &["run", "job.yml"]);
    assert_eq!(place.read("handled"), "exit status 7: no luck\nagain\n");
    assert_eq!(place.read("second"), "");
    place.ends(0, &["explain", "job.yml"]).says("commands, step 1, on_failure, step 1\n2 attempts");
}

#[test]
fn a_job_of_commands_resumes_at_the_failed_one() {
    let place = Place::with(
        "name: nightly report\ncommands:\n  - shell: 'echo 1 >> log'\n  - shell: 'echo 2 >> log; [ -f repaired ]'\n  - shell: 'echo 3 >> log'\n",
    );
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says("to resume: retry-workflow resume 'nightly report-1'");
    place.write("repaired", "");
    place.ends(0, &["resume", "nightly report-1"]);
    assert_eq!(place.read("log"), "1\n2\n2\n3\n");
    let again = place.ends(0, &["resume", "nightly report-1"]);
    again.says("has ended: there is nothing to resume");
    assert_eq!(place.read("log").lines().count(), 4);
}

#[test]
fn a_number_in_env_keeps_its_text() {
    let place = Place::with(
        "x-first: &first 1.20\nenv: { VERSION: 1.10, ACCOUNT: 123456789012345678901, MODE: 010, ALIAS: *first, PORT: { value: 8_0.50e1 } }\ncommands:\n  - exec: [./print.sh]\n    env:\n      EXPONENT: 1e2 # a comment\n      HEX: 0x1F\n      NEGATIVE: -0.0\n",
    )
    .script(
        "print.sh",
        "echo $VERSION $ACCOUNT $MODE $ALIAS $PORT $EXPONENT $HEX $NEGATIVE > seen",
    );
    place.ends(0, &["run", "job.yml"]);
    let seen = place.read("seen");
    assert_eq!(seen, "1.10 123456789012345678901 010 1.20 8_0.50e1 1e2 0x1F -0.0\n");
}

#[test]
fn prompts_go_to_the_agent_on_the_path() {
    let place = Place::with("name: job\ncommands:\n  - claude: 'fix it; $HOME `id`'\n")
        .script("bin/claude", "printf '%s\\n' \"$@\" >> asked");
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let ran = place.command(&["run", "job.yml"]).env("PATH", path).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(place.read("asked"), "-p\nfix it; $HOME `id`\n");
}

#[test]
fn another_agent_may_be_named_with_its_arguments() {
    let place = Place::with(
        "name: job\nagent: { program: ./helper.sh, args: [--model, small] }\nmap:\n  input: items.json\n  agent_template:\n    - claude: 'look at ${item.id}'\n    - shell: 'echo ${last.output} >> log'\n",
    )
    .items(&["it's"])
    .script("helper.sh", "printf '%s|' \"$@\"");
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("log"), "--model|small|look at it's|\n");
}

#[test]
fn a_missing_agent_is_reported_with_its_cure() {
    let place =
        Place::with("name: job\nagent: { program: no-such-agent }\ncommands:\n  - claude: x\n");
    place.ends(1, &["run", "job.yml"]).says("cannot start `no-such-agent`").says("agent");
}

#[test]
fn a_time_limit_holds_for_each_attempt() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'exec sleep 99'\n    timeout: 50ms\n    retry_config: { attempts: 2, initial_delay: 5ms, retry_on: [timeout] }\n",
    );
    place.ends(1, &["run", "job.yml"]).says("timed out after 50ms").says("attempts  2");
}

#[test]
fn a_time_limit_ends_all_that_the_command_has_started() {
    let place =
        Place::with("name: job\ncommands:\n  - shell: './work.sh & wait'\n    timeout: 300ms\n")
            .script("work.sh", "while :; do echo x >> beats; sleep 0.02; done");
    place.ends(1, &["run", "job.yml"]).says("timed out after 300ms");
    let beats = place.read("beats").len();
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(place.read("beats").len(), beats, "it is gone");
}

#[test]
fn a_program_with_a_path_that_is_not_there_is_not_looked_for_on_the_path() {
    let place = Place::with("commands:\n  - exec: ['./nope.sh']\n");
    let ran = place.ends(1, &["run", "job.yml"]);
    ran.says("cannot start `./nope.sh`: there is no such file in ");
    assert!(!ran.out.contains("PATH"), "{ran:#?}");
    let place = Place::with("commands:\n  - exec: ['./odd.sh']\n").script("odd.sh", "");
    place.write("odd.sh", "#!/no/such/interpreter\n");
    place.ends(1, &["run", "job.yml"]).says("the program in its first line does not exist");
    let place = Place::with("commands:\n  - exec: ['no-such-program']\n");
    place.ends(1, &["run", "job.yml"]).says("there is no such program on the PATH");
}

#[test]
fn an_unset_variable_gives_a_hint_and_a_misspelt_one_is_an_error_before_anything_runs() {
    let place = Place::with("name: job\ncommands: [{ shell: 'echo \"id-${NIGHT}\" >> log' }]\n");
    let with = |code: i32, variable: (&str, &str), arguments: &[&str]| {
        let ran = place.command(arguments).env(variable.0, variable.1).output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
        String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
    };
    let told = "$NIGHT is not set, so the shell would insert nothing: set it before";
    place.ends(0, &["check", "job.yml"]).says(told);
    for command in [["check", "job.yml"], ["run", "job.yml"]] {
        let said = with(2, ("NIGHTS", "1"), &command);
        assert!(said.contains("did you mean `${NIGHTS}`?"), "{said}");
    }
    assert_eq!((place.read("log").as_str(), place.objects(&["jobs"]).len()), ("", 0));
    with(0, ("NIGHT", "24"), &["run", "job.yml"]);
    let ran = place.ends(0, &["run", "job.yml"]);
    ran.says(&format!("hint: line 2: {told}")).says("write a default: `${NIGHT:-…}`");
    // A variable without braces belongs to the script alone.
    for (script, env) in [
        ("echo \"id-${NIGHT:-25}\" >> log", ""),
        ("NIGHT=26; echo \"id-${NIGHT}\" >> log", ""),
        ("echo \"id-${NIGHT}\" >> log", ", env: { NIGHT: 27 }"),
        ("echo \"id-$NIGHT\" >> log", ""),
    ] {
        place.write("job.yml", &format!("commands: [{{ shell: '{script}'{env} }}]\n"));
        place.ends(0, &["run", "job.yml"]);
    }
    place.write(
        "job.yml",
        "env: { NIGHT: 28 }\ncommands: [{ shell: 'echo \"id-${NIGHT}\" >> log' }]\n",
    );
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("log"), "id-24\nid-\nid-25\nid-26\nid-27\nid-\nid-28\n");
}

#[test]
fn a_script_may_insert_variables_that_are_optional() {
    let place = Place::with(
        "name: job\ncommands:\n  - shell: 'if [ -n \"${CI:-}\" ]; then echo \"${BUILD_ID}\"; fi; echo ok ${OPTS} ${OPTS} >> log; [ -e fixed ]'\n",
    );
    let hint = "hint: line 3: $OPTS is not set";
    for arguments in [["run", "job.yml"], ["resume", "job-1"]] {
        let ran = place.ends(1, &arguments);
        ran.says(hint);
        assert_eq!(ran.err.matches(hint).count(), 1, "{ran:#?}");
    }
    place.write("fixed", "");
    place.ends(0, &["resume", "job-1"]);
    assert_eq!(place.read("log"), "ok\nok\nok\n");
}

#[test]
fn a_variable_of_the_shell_is_not_suggested() {
    let place = Place::with("name: job\ncommands: [{ shell: 'echo \"${SHELL}\"' }]\n");
    let mut command = place.command(&["run", "job.yml"]);
    let command = command.env_remove("SHELL").env("SHLVL", "1").env("PWD", place.path("."));
    let ran = Ran::from_output(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("$SHELL is not set");
}
