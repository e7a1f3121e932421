//! Malicious items and commands: nothing in them is run, and nothing breaks a list or a terminal.

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
    let letters = place.objects(&["dlq", "list", "job-1"]);
    assert_eq!(letters.len(), 4, "{letters:?}");
    for letter in letters {
        let hash = letter["id"].as_str().unwrap();
        assert!(hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        place.ends(0, &["dlq", "show", "job-1", hash]).says("exit status 1: not ");
    }
}

/// Runs items with these ids, all of which fail, and lists them.
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
fn a_payload_of_megabytes_is_an_item_like_another() {
    let text = "x".repeat(2_000_000);
    let place = place(&json!([{ "id": "large", "text": text }, { "id": "small" }]))
        .script("work.sh", "echo $1 >> log; [ $1 = small ]");
    place.ends(3, &["run", "job.yml"]).says("1 succeeded, 1 dead letter, of 2");
    let list = place.ends(0, &["dlq", "list"]);
    assert!(list.out.len() < 1_000, "{}", list.out.len());
    assert_eq!(place.ends(0, &["dlq", "stats"]).out.lines().count(), 3);
    let exported = place.ends(0, &["dlq", "export"]);
    assert!(exported.out.len() > 2_000_000 && exported.out.lines().count() == 1);
}

#[test]
fn a_value_too_long_for_an_argument_fails_its_item() {
    let place =
        place(&json!([{ "id": "large", "text": "x".repeat(2_500_000) }])).script("work.sh", "");
    place.write("job.yml", &MAP.replace("item.id", "item.text"));
    place.ends(3, &["run", "job.yml"]);
    let list = place.ends(0, &["dlq", "list"]);
    list.says("is 2500000 bytes long").says("RETRY_WORKFLOW_ITEM_FILE");
}

#[test]
fn the_shells_own_commands_are_given_a_value_of_any_length_unchanged() {
    let text = format!("{}\n$(touch pwned) '\"\\\n\n", "x y\n".repeat(500_000));
    let items = json!([{ "id": "large", "text": text, "half": "y".repeat(100_000) }]);
    let place = place(&items);
    let shell = "printf %s ${item.text} > text; printf %s \"a${item.text}\" >> text; \
                 printf %s ${item.half} > half; ./work.sh ${item.id}; \
                 cp \"$RETRY_WORKFLOW_VALUE_1_FILE\" copy";
    let place = place.script("work.sh", "env | grep -c 'x y' > exported; :");
    let shell = serde_json::to_string(shell).unwrap();
    place.write("job.yml", &MAP.replace("'./work.sh ${item.id}'", &shell));
    // As if another job ran this one, with its own values exported.
    let ran = place.command(&["run", "job.yml"]).env("RETRY_WORKFLOW_VALUE_1", "x").output();
    assert!(ran.unwrap().status.success());
    assert!(place.read("text") == format!("{text}a{text}"), "it is another one");
    assert_eq!(place.read("half").len(), 100_000);
    assert_eq!(place.read("exported"), "0\n");
    assert!(place.read("copy") == text, "it is another one");
    assert!(!place.path("pwned").exists());
}

#[test]
fn many_values_that_are_long_together_are_handed_over_all_the_same() {
    let mut item = json!({ "id": "a" });
    for number in 0..30 {
        item[format!("v{number}")] = json!("z".repeat(100_000));
    }
    let place = place(&json!([item]));
    let words: Vec<_> = (0..30).map(|number| format!("${{item.v{number}}}")).collect();
    let shell = format!("printf %s {} | wc -c > count; ./work.sh", words.concat());
    let place = place.script("work.sh", "exit 0");
    place.write("job.yml", &MAP.replace("./work.sh ${item.id}", &shell));
    place.ends(0, &["run", "job.yml"]);
    assert_eq!(place.read("count").trim(), "3000000");
}

#[test]
fn a_program_of_exec_is_given_each_value_as_it_is_and_no_shell_reads_it() {
    let ids: Vec<_> = SHELL.iter().chain(&TERMINAL).chain(&["-", "--", "$HOME", ""]).collect();
    let items: Vec<_> = ids.iter().map(|id| json!({ "id": id, "list": [1, "a b"] })).collect();
    let place = place(&json!(items)).script(
        "work.sh",
        "[ $# = 4 ] || exit 1; printf '%s\\0' \"$@\" > out.$RETRY_WORKFLOW_ITEM",
    );
    let exec = r#"exec: ["./work.sh", "--id=${item.id}", "${item.list}", "$HOME `x`", ""]"#;
    let workflow = MAP.replace("shell: './work.sh ${item.id}'", exec);
    place.write("job.yml", &workflow.replace("input:", "item_id: 'n-${item.n}'\n  input:"));
    let numbered: Vec<_> = items
        .into_iter()
        .enumerate()
        .map(|(number, mut item)| {
            item["n"] = json!(number);
            item
        })
        .collect();
    place.write("items.json", &json!(numbered).to_string());
    place.ends(0, &["run", "job.yml"]);
    for (number, id) in ids.iter().enumerate() {
        let given = place.read(&format!("out.n-{number}"));
        let words: Vec<_> = given.split('\0').collect();
        assert_eq!(words, [&format!("--id={id}"), r#"[1,"a b"]"#, "$HOME `x`", "", ""]);
    }
    assert!(!place.path("pwned").exists());
}

#[test]
fn a_value_that_nothing_can_be_given_fails_its_item_at_once() {
    let items =
        json!([{ "id": "nul", "text": "a\0b" }, { "id": "large", "text": "x".repeat(200_000) }]);
    let place = place(&items).script("work.sh", "exit 1");
    let retried = "exec: ['./work.sh', '${item.text}']\n      retry_config: { attempts: 3, initial_delay: 1h, max_delay: 1h }";
    place.write("job.yml", &MAP.replace("shell: './work.sh ${item.id}'", retried));
    place.ends(3, &["run", "job.yml"]);
    for (id, why) in [("nul", "NUL character"), ("large", "is 200000 bytes long")] {
        place.ends(0, &["dlq", "show", id]).says(why);
        let letter = place.object(&["dlq", "show", id]);
        assert_eq!(letter["history"].as_array().unwrap().len(), 1, "{letter:#}");
        assert_eq!(letter["history"][0]["failure"]["class"], "payload", "{letter:#}");
    }
}

#[test]
fn a_value_cannot_open_a_connection() {
    let place = place(&json!([{ "id": "/dev/tcp/127.0.0.1/9" }, { "id": "fine" }]));
    place.write("job.yml", &MAP.replace("./work.sh ${item.id}", "echo x > ${item.id}"));
    place.ends(3, &["run", "job.yml"]).says("would open a network connection");
    assert_eq!(place.read("fine"), "x\n");
}

#[test]
fn output_need_not_be_text() {
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
