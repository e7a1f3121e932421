//! Items and commands that mean no good: nothing of theirs is run, and nothing of it breaks a
//! list or a terminal.

use serde_json::json;

use super::support::Place;

const MAP: &str = "\
name: job
map:
  input: items.json
  agent_template:
    - shell: './work.sh ${item.id}'
";

fn place(items: &serde_json::Value) -> Place {
    Place::with(MAP).file("items.json", &items.to_string())
}

const SHELL: [&str; 6] = [
    "`touch pwned`",
    "; touch pwned",
    "$(touch pwned)",
    "' ; touch pwned '",
    "-rf",
    "日本\u{202e}",
];
const TERMINAL: [&str; 4] = ["a\nb", "\u{1b}[2J\u{7}", "\u{9b}31m", "c\rd"];

#[test]
fn ids_are_arguments_and_names_whatever_is_in_them() {
    let place = tried(&SHELL);
    for id in SHELL {
        place.ends(0, &["dlq", "show", "job-1", "--", id]).says("exit status 1: not ");
    }
}

#[test]
fn ids_that_steer_a_terminal_name_no_item_and_are_arguments_all_the_same() {
    let place = tried(&TERMINAL);
    for number in ["1", "2", "3", "4"] {
        place.ends(0, &["dlq", "show", "job-1", number]).says("exit status 1: not ");
    }
}

/// All of them fail, and are listed.
#[track_caller]
fn tried(ids: &[&str]) -> Place {
    let items: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
    let place = place(&json!(items))
        .script("work.sh", "printf '%s\\0' \"$1\" >> log; echo \"not $1\" >&2; exit 1");
    let ran = place.ends(3, &["run", "job.yml"]);
    assert!(!place.path("pwned").exists());
    let log = place.read("log");
    let mut given: Vec<_> = log.split_terminator('\0').collect();
    given.sort_unstable();
    let mut expected = ids.to_vec();
    expected.sort_unstable();
    assert_eq!(given, expected);
    let list = place.ends(0, &["dlq", "list"]);
    assert_eq!(list.out.lines().count(), 1 + ids.len(), "{list:#?}");
    let status = place.ends(0, &["status"]);
    let groups = place.ends(0, &["dlq", "stats"]);
    for text in [&ran.out, &ran.err, &list.out, &status.out, &groups.out] {
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!text.contains(steers), "{text:?}");
    }
    place
}

#[test]
fn a_payload_of_ten_megabytes_is_an_item_like_another() {
    let place =
        place(&json!([{ "id": "large", "text": "x".repeat(10_000_000) }, { "id": "small" }]))
            .script("work.sh", "echo $1 >> log; [ $1 = small ]");
    place.ends(3, &["run", "job.yml"]).says("1 succeeded, 1 dead letter, of 2");
    let list = place.ends(0, &["dlq", "list"]);
    assert!(list.out.len() < 1_000, "{}", list.out.len());
    assert_eq!(place.ends(0, &["dlq", "stats"]).out.lines().count(), 3);
    let exported = place.ends(0, &["dlq", "export"]);
    assert!(exported.out.len() > 10_000_000 && exported.out.lines().count() == 1);
}

#[test]
fn a_value_that_no_argument_can_hold_says_so_as_a_failure_of_its_item() {
    let place =
        place(&json!([{ "id": "large", "text": "x".repeat(10_000_000) }])).script("work.sh", "");
    place.write("job.yml", &MAP.replace("item.id", "item.text"));
    place.ends(3, &["run", "job.yml"]);
    let list = place.ends(0, &["dlq", "list"]);
    list.says("is 10000000 bytes long").says("RETRY_WORKFLOW_ITEM_FILE");
}

#[test]
fn what_a_command_writes_need_be_no_text() {
    let place = place(&json!([{ "id": "good" }, { "id": "bad" }])).script(
        "work.sh",
        "printf '\\377\\376\\000\\033[2J'; printf 'broken \\377\\000\\033[31m' >&2; [ $1 = good ]",
    );
    let reduce = "reduce:\n  - shell: 'printf %s ${map.results} > results'\n";
    place.write("job.yml", &format!("{MAP}{reduce}"));
    let ran = place.ends(3, &["run", "job.yml"]);
    ran.says("exit status <n>: broken \u{fffd}\u{fffd}");
    assert!(!format!("{}{}", ran.out, ran.err).contains(['\u{1b}', '\0']), "{ran:#?}");
    let results: serde_json::Value = serde_json::from_str(&place.read("results")).unwrap();
    assert_eq!(results.as_array().unwrap().len(), 1);
    assert_eq!(place.ends(0, &["dlq", "list"]).out.lines().count(), 2);
}

#[test]
fn a_command_that_writes_without_end_is_cut() {
    let place = place(&json!([{ "id": "a" }]))
        .script("work.sh", "head -c 20000000 /dev/zero | tr '\\0' x; head -c 20000000 /dev/zero | tr '\\0' 'y' >&2; exit 1");
    let ran = place.ends(3, &["run", "job.yml"]);
    assert!(
        ran.out.len() < 20_000 && ran.err.len() < 20_000,
        "{} {}",
        ran.out.len(),
        ran.err.len()
    );
}

#[test]
fn json_that_is_too_deep_is_a_mistake_in_the_input() {
    let place = Place::with(MAP)
        .file("items.json", &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    place.ends(2, &["run", "job.yml"]).says("items.json:1:").says("recursion limit");
    let deep = format!("[{{ \"id\": \"a\", \"deep\": {}{} }}]", "[".repeat(100), "]".repeat(100));
    let place = Place::with(MAP).file("items.json", &deep).script("work.sh", "exit 1");
    place.ends(3, &["run", "job.yml"]);
    place.ends(0, &["dlq", "show", "a"]).says("exit status 1");
}
