//! Values that steps pass on to later ones: within a process, and when another process continues.

use super::support::Place;

#[test]
fn a_list_of_steps_is_a_workflow_of_the_name_of_its_file() {
    let place =
        Place::new().file("nightly.yml", "- shell: echo a >> log\n- shell: echo b >> log\n");
    place.ends(0, &["run", "nightly.yml"]).says("job nightly-1: nightly.yml");
    assert_eq!(place.read("log"), "a\nb\n");
}

#[test]
fn captured_values_survive_a_resume() {
    let place = Place::with(
        "commands:\n- { shell: 'echo run >> log; echo main', capture: branch }\n- { shell: 'echo 3', capture: n, \
         capture_format: number }\n- { shell: 'test -e ready && echo \"$PWD\" ${branch} ${last.output} > seen', when: 'n > 2' }\n",
    );
    place.ends(1, &["run", "job.yml"]);
    place.write("ready", "");
    place.ends(0, &["resume"]);
    assert!(place.read("seen").ends_with(" main 3\n"), "{}", place.read("seen"));
    assert_eq!(place.read("log"), "run\n");
}

#[test]
fn a_secret_is_in_no_store_and_no_line_and_is_passed_on_by_a_file() {
    let place = Place::with(
        "secrets: { KEY: { env: PLACE_KEY } }\ncommands:\n- { shell: 'echo \"t-$KEY\" | tee token', capture: token }\n\
         - shell: 'cat token >> seen; echo \"no $KEY\" >&2; echo \"$KEY\"; test -e ready'\n- shell: 'cat token >> seen'\n",
    );
    place.ends(2, &["run", "job.yml"]).says("the secret `KEY` has no value");
    place.ends(0, &["check", "job.yml"]).says("not checked: the secret $PLACE_KEY is not set here");
    let with_key = |arguments: &[&str]| {
        let output = place.command(arguments).env("PLACE_KEY", "hush-hush").output().unwrap();
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!told.contains("hush"), "{told}");
        (output.status.code(), told)
    };
    let (code, told) = with_key(&["run", "job.yml"]);
    assert!(code == Some(1) && told.contains("write it to a file"), "{told}");
    place.write("job.yml", &place.read("job.yml").replace(", capture: token", ""));
    let (code, told) = with_key(&["resume"]);
    assert!(code == Some(1) && told.contains("no ***"), "{told}");
    place.write("ready", "");
    assert_eq!(with_key(&["resume"]).0, Some(0));
    assert_eq!(place.read("seen"), "t-hush-hush\n".repeat(3));
    for entry in std::fs::read_dir(place.path("")).unwrap() {
        let path = entry.unwrap().path();
        let is_store = path.to_string_lossy().contains(".db");
        let bytes = std::fs::read(&path).unwrap();
        assert!(!is_store || !bytes.windows(4).any(|part| part == b"hush"), "{}", path.display());
    }
}

#[test]
fn a_secret_that_is_too_short_is_refused() {
    let place = Place::with("env: { T: { secret: true, value: abc } }\ncommands: { shell: x }\n");
    place.ends(2, &["run", "job.yml"]).says("the secret `T` is 3 bytes long");
    place.ends(2, &["check", "job.yml"]).says("job.yml:1:34");
}

#[test]
fn a_file_of_variables_is_read_when_the_job_begins() {
    let place = Place::with("env_files: .env\ncommands: { shell: 'echo \"$A\" > seen' }\n");
    place.ends(0, &["check", "job.yml"]).says("not checked: `.env` does not exist yet");
    place.ends(2, &["run", "job.yml"]).says("cannot read the variables in `.env`");
    place.write(".env", "# of this machine\nA = 'b c'\noops\n");
    place.ends(2, &["run", "job.yml"]).says(".env:3:1");
    place.write(".env", "A='b c'\n");
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("seen"), "b c\n");
}

#[test]
fn captures_of_setup_are_available_to_handlers() {
    let place = Place::with(
        "name: job\nsetup:\n  - shell: 'echo skip'\n    capture: verdict\nmap:\n  input: items.json\n  agent_template:\n    - shell: 'false'\nerror_policy: { on_item_failure: decide }\nhandlers:\n  decide: { shell: 'echo ${item.id} >> decided; echo ${verdict}' }\n",
    )
    .items(&["a", "b"]);
    let ran = place.ends(0, &["run", "job.yml"]);
    ran.says("2 skipped");
    assert_eq!(place.sorted("decided"), ["a", "b"]);
}

#[test]
fn a_fallback_gives_the_capture_of_its_step_a_value() {
    let place = Place::with(
        "commands:\n- { shell: 'exit 3', on_failure: { fallback: { command: 'echo 1.4' } }, capture: version }\n- { shell: 'echo ${version} ${version.success} ${version.exit_code} ${last.output} > seen' }\n\
         - { shell: 'exit 3', on_failure: { fallback: { command: 'echo oops' } }, capture: n, capture_format: number }\n",
    );
    place.ends(1, &["run", "job.yml"]).says("is not a number");
    assert_eq!(place.read("seen"), "1.4 true 0 1.4\n");
}
