//! Items: their ids, and mistakes in an input.

use std::fs;
use std::path::Path;

use retry_workflow_cli::WorkflowFile;

const STEP: &str = "  agent_template: { shell: \"x ${item.id}\" }";

/// The ids or the error, without the folder's name.
fn read(folder: &Path, text: &str) -> Result<Vec<String>, String> {
    let job = folder.join("job.yml");
    fs::write(&job, text).unwrap();
    let file = WorkflowFile::read(&job).map_err(|error| error.to_string());
    let told = file.and_then(|file| file.items().map_err(|error| error.to_string()));
    let shown = format!("{}/", folder.display());
    told.map(|items| items.into_iter().map(|item| item.id).collect())
        .map_err(|told| told.replace(&shown, ""))
}

fn items(input: &str, map: &str) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("items.json"), input).unwrap();
    read(folder.path(), &format!("map:\n  input: items.json\n{map}\n"))
}

#[track_caller]
fn told(input: &str, map: &str, expected: &str) {
    let told = items(input, map).unwrap_err();
    assert!(told == expected, "told:\n{told}\n\nexpected:\n{expected}");
}

#[test]
fn ids_are_the_items_own_or_come_from_their_contents() {
    let any = "  agent_template: { shell: x }";
    assert_eq!(items(r#"[{"id": 7}, {"id": "b"}]"#, STEP).unwrap(), ["7", "b"]);
    let hash = "7-d51421b3d1d9d8b9";
    assert_eq!(items(r#"[{"id": 7}, 5, 5]"#, any).unwrap(), [hash, "5", "5~2"]);
    assert_eq!(items(r#"["a b", {"id": 7}]"#, any).unwrap(), ["a b", hash]);
    assert_eq!(items("[]", STEP).unwrap(), [""; 0]);
    let template = format!("  item_id: \"${{item.a}}-${{item.id}}\"\n{STEP}");
    assert_eq!(items(r#"[{"id": 7, "a": "x"}]"#, &template).unwrap(), ["x-7"]);
}

#[test]
fn items_come_in_the_order_of_the_document() {
    let map = format!("  json_path: \"$.b[*]['c','a']\"\n{STEP}");
    let input = r#"{"b": [{"a": {"id": 2}, "c": {"id": 1}}, {"c": {"id": 3}, "a": {"id": 4}}]}"#;
    assert_eq!(items(input, &map).unwrap(), ["1", "2", "3", "4"]);
}

#[test]
fn a_field_that_every_item_lacks_is_reported_at_its_use() {
    let folder = tempfile::tempdir().unwrap();
    let item = |n| format!(r#"{{"country": "NL", "id": "c{n}", "name": "a"}}"#);
    let list = (1..=12).map(item).collect::<Vec<_>>().join(", ");
    fs::write(folder.path().join("customers.json"), format!("{{\"customers\": [{list}]}}"))
        .unwrap();
    let text = "\
name: import
map:
  input: customers.json
  json_path: \"$.customers[*]\"
  agent_template:
    - shell: \"./import.sh ${item.id} ${item.county}\"
    - claude: |
        Look at ${item.name}
        in ${item.town}
handlers:
  tell: { shell: 'echo ${item.county}' }
";
    let expected = "\
error: item 1 of customers.json (`$['customers'][0]`, id \"c1\") has no `county`: did you mean `${item.country}`? It has `country`, `id`, `name`; 12 of 12 items lack one
 --> job.yml:6:38
  |
6 |     - shell: \"./import.sh ${item.id} ${item.county}\"
  |                                      ^^^^^^^^^^^^^^

error: item 1 of customers.json (`$['customers'][0]`, id \"c1\") has no `town`: it has `country`, `id`, `name`; 12 of 12 items lack one
 --> job.yml:9:12
  |
9 |         in ${item.town}
  |            ^^^^^^^^^^^^

error: item 1 of customers.json (`$['customers'][0]`, id \"c1\") has no `county`: did you mean `${item.country}`? It has `country`, `id`, `name`; 12 of 12 items lack one
  --> job.yml:11:24
   |
11 |   tell: { shell: 'echo ${item.county}' }
   |                        ^^^^^^^^^^^^^^";
    let told = read(folder.path(), text).unwrap_err();
    assert!(told == expected, "{told}");
}

#[test]
fn items_that_lack_a_field_are_counted() {
    let map = "  agent_template: { shell: \"x ${item.customer.nmae} ${item.tags[1]}\" }";
    told(
        r#"[{"customer": {"nmae": 1}, "tags": [1, 2]}, {"customer": {"id": 1, "name": 2}, "tags": [1]}, 5]"#,
        map,
        "\
error: item 2 of items.json (`$[1]`) has no `customer.nmae`: did you mean `${item.customer.name}`? `customer` has `id`, `name`; 2 of 3 items lack one
 --> job.yml:3:31
  |
3 |   agent_template: { shell: \"x ${item.customer.nmae} ${item.tags[1]}\" }
  |                               ^^^^^^^^^^^^^^^^^^^^^

error: item 2 of items.json (`$[1]`) has no `tags[1]`: `tags` is a list of 1; 2 of 3 items lack one
 --> job.yml:3:53
  |
3 |   agent_template: { shell: \"x ${item.customer.nmae} ${item.tags[1]}\" }
  |                                                     ^^^^^^^^^^^^^^^",
    );
    let lacking = |input| items(input, STEP).unwrap_err().lines().next().unwrap().to_owned();
    assert_eq!(
        lacking("[{}]"),
        "error: item 1 of items.json (`$[0]`) has no `id`: it is an empty map"
    );
    assert_eq!(
        lacking(r#"[{"id": 1}, null]"#),
        "error: item 2 of items.json (`$[1]`) has no `id`: it is null; 1 of 2 items lack one"
    );
    assert_eq!(
        lacking(r#"[{"id": 1}, {"ID": 2}, {"id": 3}]"#),
        "error: item 2 of items.json (`$[1]`) has no `id`: did you mean `${item.ID}`? It has `ID`; 1 of 3 items lack one"
    );
    let long = format!("[{}{{\"id\": 1}}]", "1, ".repeat(999));
    assert_eq!(
        lacking(&long),
        "error: item 1 of items.json (`$[0]`) has no `id`: it is a number; 999 of 1000 \
         items lack one"
    );
}

#[test]
fn an_unknown_position_is_the_start_of_the_text() {
    for (step, column) in [
        (r#"{ shell: "x \u0024{item.id}" }"#, 28),
        (r#"{ shell: "\tx ${item.id}" }"#, 33),
        (r#"[{ name: &x "x ${item.id}", shell: *x }]"#, 54),
    ] {
        let told = items("[{}]", &format!("  agent_template: {step}")).unwrap_err();
        assert!(told.contains(&format!(" --> job.yml:3:{column}\n")), "{told}");
    }
}

#[test]
fn nothing_of_an_item_steers_a_terminal_or_fills_it() {
    let key = "k".repeat(10_000);
    let input = format!(r#"[{{"id": "\u001b[2J", "\u001b[31m": 1, "{key}": 2}}]"#);
    let told = items(&input, "  agent_template: { shell: 'x ${item.name}' }").unwrap_err();
    assert!(!told.contains('\u{1b}') && told.len() < 1_000, "{told}");
}

#[test]
fn a_list_inside_a_map_is_offered_where_no_path_is_written() {
    told(
        r#"{"total": 2, "users": [{"id": 1}, {"id": 2}]}"#,
        STEP,
        "\
error: item 1 of items.json (`$['total']`) has no `id`: it is a number; 2 of 2 items lack one; if the items are those in `users`, write `json_path: \"$.users[*]\"`
 --> job.yml:3:31
  |
3 |   agent_template: { shell: \"x ${item.id}\" }
  |                               ^^^^^^^^^^",
    );
}

#[test]
fn unusable_ids_are_reported_at_their_template() {
    told(
        r#"[{"a": 1}, {"a": 2}, {"a": "1"}, {"a": ""}, {"a": 2}, {"a": 1}, {"a": null}, {"a": "\u0000"}]"#,
        "  item_id: \"${item.a}\"\n  agent_template: { shell: x }",
        "\
error: items 1 and 3 (`$[2]`) of items.json have the same id, \"1\": use something that differs between items; 2 items more with the id of an earlier item
 --> job.yml:3:12
  |
3 |   item_id: \"${item.a}\"
  |            ^^^^^^^^^^^

error: the id of item 4 of items.json (`$[3]`) is empty: use something that every item has; 1 item more with an empty id
 --> job.yml:3:12
  |
3 |   item_id: \"${item.a}\"
  |            ^^^^^^^^^^^

error: the id of item 8 of items.json (`$[7]`) cannot be read: the value of `${item.a}` contains a NUL character, which cannot be passed to a command
 --> job.yml:3:12
  |
3 |   item_id: \"${item.a}\"
  |            ^^^^^^^^^^^",
    );
}

#[test]
fn an_id_too_long_for_a_store_is_reported_at_its_template() {
    let [long, longest] = [10_000, 1_000].map(|bytes| "x".repeat(bytes));
    told(
        &format!(r#"[{{"a": "{longest}"}}, {{"a": "{long}"}}, {{"a": "{long}y"}}]"#),
        "  item_id: \"${item.a}\"\n  agent_template: { shell: x }",
        "\
error: the id of item 2 of items.json (`$[1]`) is 10,000 bytes long, and 1,000 are the most: use a shorter field, such as a number; 1 item more with an id like that
 --> job.yml:3:12
  |
3 |   item_id: \"${item.a}\"
  |            ^^^^^^^^^^^",
    );
}

#[test]
fn a_priority_is_a_small_whole_number() {
    told(
        r#"[{"id": 1, "p": "9"}, {"id": 2, "p": "high"}, {"id": 3, "p": 1.5}, {"id": 4, "p": null}, {"id": 5, "p": 10}]"#,
        "  priority: \"${item.p}\"\n  agent_template: { shell: x }",
        "\
error: the priority of item 2 of items.json (`$[1]`, id \"2\") is \"high\": write a whole number from -9 to 9, the higher the sooner; 2 items more with one like that
 --> job.yml:3:13
  |
3 |   priority: \"${item.p}\"
  |             ^^^^^^^^^^^",
    );
}

#[test]
fn a_cost_is_a_whole_number_from_1() {
    told(
        r#"[{"id": 1, "n": 10}, {"id": 2, "n": "12"}, {"id": 3, "n": 99999999999999999999}, {"id": 4, "n": "many"},
            {"id": 5, "n": 0}, {"id": 6, "n": -1}, {"id": 7, "n": 1.5}, {"id": 8, "n": null}, {"id": 9, "n": "99999999999999999999"}]"#,
        "  rate: { limit: 90/m, cost: \"${item.n}\" }\n  agent_template: { shell: x }",
        "\
error: the cost of item 4 of items.json (`$[3]`, id \"4\") is \"many\": write a whole number from 1; 4 items more with one like that
 --> job.yml:3:30
  |
3 |   rate: { limit: 90/m, cost: \"${item.n}\" }
  |                              ^^^^^^^^^^^",
    );
    told(
        r#"[{"id": 1, "n": 10}, {"id": 2}]"#,
        "  rate: { limit: 90/m, cost: \"${item.n}\" }\n  agent_template: { shell: x }",
        "\
error: item 2 of items.json (`$[1]`, id \"2\") has no `n`: it has `id`; 1 of 2 items lack one
 --> job.yml:3:31
  |
3 |   rate: { limit: 90/m, cost: \"${item.n}\" }
  |                               ^^^^^^^^^",
    );
}

#[test]
fn a_path_that_matches_nothing_is_reported() {
    told(
        r#"{"items": [{"id": 1}], "total": 1}"#,
        &format!("  json_path: \"$.itmes[*]\"\n{STEP}"),
        "\
error: `json_path` finds no items, because items.json has no `itmes`: it has `items`, `total`; did you mean `items`?
 --> job.yml:3:17
  |
3 |   json_path: \"$.itmes[*]\"
  |                 ^^^^^",
    );
    for (input, path, why) in [
        (
            "[1]",
            "$.items[*]",
            "items.json has no `items`: it is a list of 1, whose entries are `[*]`",
        ),
        ("{}", "$.items[*]", "items.json has no `items`: it is an empty map"),
        ("{\"items\": []}", "$.items[*].id", ""),
        ("{\"items\": 5}", "$.items[*]", "`$.items` is a number, not a list"),
        ("{\"items\": null}", "$.items[*]", "`$.items` is null, not a list"),
        (
            "{\"items\": {}}",
            "$.items[0:5]",
            "`$.items` is an empty map, but `[0:5]` is part of a list",
        ),
        ("{\"items\": []}", "$.items[0]", "`$.items` has no `[0]`: it is an empty list"),
        (
            "[{\"a\": 1}, {}]",
            "$[*].items[*]",
            "none of the 2 that `$[*]` finds has `items`: the first has `a`",
        ),
        (
            "[{\"item\": 1}, {}]",
            "$[*]['items']",
            "none of the 2 that `$[*]` finds has `items`: the first has `item`; did you mean `item`?",
        ),
        ("[{}]", "$..items[*]", "nothing in items.json is named `items`"),
        ("null", "$", ""),
    ] {
        let map = format!("  json_path: \"{path}\"\n  agent_template: {{ shell: x }}");
        match items(input, &map) {
            Ok(_) => assert_eq!(why, "", "{input} {path}"),
            Err(told) => {
                let first = told.lines().next().unwrap();
                assert_eq!(first, format!("error: `json_path` finds no items, because {why}"));
                assert!(told.contains(" --> job.yml:3:"), "{told}");
            }
        }
    }
}

#[test]
fn an_empty_list_is_accepted() {
    for (input, path) in [
        ("[]", "$[*]"),
        ("{}", "$[*]"),
        (r#"{"items": []}"#, "$.items[*]"),
        (r#"{"items": []}"#, "$.items[0:10]"),
        (r#"{"items": [{"active": false}]}"#, "$.items[?@.active == true]"),
        (r#"{"regions": []}"#, "$.regions[*].items[*]"),
        (r#"{"regions": [{}, {"items": []}]}"#, "$.regions[*].items[*]"),
        (r#"{"a": {"items": []}}"#, "$..items[*]"),
    ] {
        let map = format!("  json_path: \"{path}\"\n{STEP}");
        assert_eq!(items(input, &map).as_deref(), Ok(&[][..]), "{input} {path}");
    }
}

#[test]
fn an_input_without_a_list_is_reported_at_its_name() {
    told(
        "\"text\"",
        STEP,
        "\
error: there are no items, because items.json is a text, not a list
 --> job.yml:2:10
  |
2 |   input: items.json
  |          ^^^^^^^^^^",
    );
}

#[test]
fn an_input_that_is_not_json_is_reported_with_the_place() {
    let told = items("[\n  {\"id\": 1},\n  {\"id\" 2}\n]", STEP).unwrap_err();
    assert_eq!(
        told,
        "error: this input is not JSON: expected `:`\n --> items.json:3:9\n  |\n3 |   {\"id\" 2}\n  |         ^"
    );
    let told = items("{\"id\": 1}\n{\"id\": 2}\n", STEP).unwrap_err();
    assert_eq!(
        told,
        "error: this input is not JSON: something follows its end: write a single list of all items, or name the file .jsonl if each line is an item\n --> items.json:2:1\n  |\n2 | {\"id\": 2}\n  | ^"
    );
    let told = items(&"[".repeat(1_000_000), STEP).unwrap_err();
    assert!(told.starts_with("error: this input is not JSON: recursion limit"), "{told:.200}");
    let told = items(" \n", STEP).unwrap_err();
    assert_eq!(
        told,
        "error: this input is empty: write a list of items, or `[]` if there are none\n --> \
         items.json"
    );
}

#[test]
fn an_unreadable_input_is_reported_at_its_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/customers.json"), "[]").unwrap();
    for (input, why) in [
        (
            "none.json",
            "there is no file `none.json` (paths are relative to the folder of this \
                       file)",
        ),
        (
            "data/customer.json",
            "there is no file `data/customer.json` (paths are relative to the folder of this \
             file): did you mean `data/customers.json`?",
        ),
        ("dat/x.json", "there is no folder `dat` (paths are relative to the folder of this file)"),
        ("/no-such/x.json", "there is no folder `/no-such`"),
        ("{ file: data }", "`data` is a folder: name a file in it"),
        // The suggestion must not be this very file.
        (
            "{ file: job.yaml }",
            "there is no file `job.yaml` (paths are relative to the folder of this file)",
        ),
        (
            "cat x.json",
            "there is no file `cat x.json` (paths are relative to the folder of this file); for a \
             command with such an ending, write `{ command: … }`",
        ),
    ] {
        let told = read(folder.path(), &format!("map:\n  input: {input}\n{STEP}\n")).unwrap_err();
        let meant = input.trim_start_matches("{ file: ").trim_end_matches(" }");
        let (carets, column) = ("^".repeat(meant.len()), 10 + input.find(meant).unwrap());
        let blanks = " ".repeat(column - 1);
        assert_eq!(
            told,
            format!(
                "error: cannot read the items: {why}\n --> job.yml:2:{column}\n  |\n2 |   input: {input}\n  | {blanks}{carets}"
            )
        );
    }
}

#[test]
fn a_file_resolves_the_path_of_its_items() {
    let file = |text| WorkflowFile::parse("jobs/job.yml", text).unwrap().input();
    let map = format!("map:\n  input: items.json\n{STEP}\n");
    assert_eq!(file(&map).as_deref(), Some(Path::new("jobs/items.json")));
    assert_eq!(file("commands: { shell: x }"), None);
}

/// The ids of the items in an input file, read with this `map`.
fn of_file(name: &str, input: &str, map: &str) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), input).unwrap();
    read(folder.path(), &format!("map:\n  input: {name}\n{map}\n"))
}

#[test]
fn a_duplicate_id_is_reported_with_both_places() {
    let input = "{\"id\": 7}\n\n{\"id\": 8}\n{\"id\": \"7\"}\n{\"id\": 8}\n";
    let told = of_file("items.jsonl", input, STEP).unwrap_err();
    assert_eq!(
        told,
        "error: items 1 and 3 (line 4) of items.jsonl have the same id, \"7\": set `item_id` to something that differs, or keep one of each with `distinct: id`; 1 item more with the id of an earlier item\n --> job.yml:2:10\n  |\n2 |   input: items.jsonl\n  |          ^^^^^^^^^^^"
    );
    let distinct = format!("  distinct: id\n{STEP}");
    // 7 and "7" are distinct, but have the same id.
    assert!(
        of_file("items.jsonl", input, &distinct).unwrap_err().contains("items 1 and 3 (line 4)")
    );
    let input = "{\"id\": 7}\n{\"id\": 8}\n{\"id\": 7}\n";
    assert_eq!(of_file("items.jsonl", input, &distinct).unwrap(), ["7", "8"]);
}

#[test]
fn ids_that_not_all_items_have_may_be_equal() {
    let any = "  agent_template: { shell: x }";
    let input = r#"[{"id": 1}, {"id": 1}, {"name": "x"}]"#;
    assert_eq!(of_file("items.json", input, any).unwrap().len(), 3);
}

#[test]
fn json_lines_csv_and_lines_are_inputs() {
    let any = "  agent_template: { shell: x }";
    let lines = "{\"id\": \"a\"}\r\n\n  {\"id\": \"b\"}";
    assert_eq!(of_file("x.jsonl", lines, STEP).unwrap(), ["a", "b"]);
    assert_eq!(of_file("x.ndjson", &format!("\u{feff}{lines}"), STEP).unwrap(), ["a", "b"]);
    let csv = "id,name\n7,\"a, b\"\n\"8\",\"two\nlines\"\n";
    let named = "  item_id: \"${item.id} ${item.name}\"\n  agent_template: { shell: x }";
    assert_eq!(of_file("x.csv", csv, named).unwrap(), ["7 a, b", "8 two\nlines"]);
    assert_eq!(of_file("x.csv", "id\n", STEP).unwrap(), [""; 0]);
    let text = "  item_id: \"${item}\"\n  agent_template: { shell: x }";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("list"), "a b\n\n{c}\n").unwrap();
    let file = |what: &str| read(folder.path(), &format!("map:\n  input: {what}\n{text}\n"));
    assert_eq!(file("{ file: list }").unwrap(), ["a b", "{c}"]);
    assert_eq!(file("cat list").unwrap(), ["a b", "{c}"]);
    assert_eq!(file("{ command: 'printf \"[1, 2]\"' }").unwrap(), ["1", "2"]);
    assert_eq!(file("{ command: 'printf \"1\\n2\"', format: jsonl }").unwrap(), ["1", "2"]);
    fs::write(folder.path().join("two"), "{\"id\": 1}\n{\"id\": 2}\n").unwrap();
    assert_eq!(file("cat two").map(|ids| ids.len()), Ok(2));
    assert_eq!(of_file("x.jsonl", "1\n2\n", any).unwrap(), ["1", "2"]);
}

/// The parser would read the map as the number, or as what the text contains.
#[test]
fn a_key_of_the_parser_is_refused() {
    let why = "a key that begins with `$serde_json::private::` is reserved: rename it";
    for key in ["Number", "RawValue"] {
        let item = format!("{{ \"id\": 1, \"n\": {{ \"$serde_json::private::{key}\": \"2\" }} }}");
        let line = of_file("x.jsonl", &format!("{{ \"id\": 0 }}\n{item}\n"), STEP).unwrap_err();
        assert!(line.starts_with(&format!("error: {why}\n --> x.jsonl:2:19\n")), "{line}");
        let told = of_file("x.json", &format!("[{item}]"), STEP).unwrap_err();
        assert!(told.starts_with(&format!("error: cannot read the items: {why}")), "{told}");
        let apart = item.replace("\": \"2", &format!("\"{}: \"2", " \n\t".repeat(50_000)));
        let told = of_file("x.json", &format!("[{apart}]"), STEP).unwrap_err();
        assert!(told.starts_with(&format!("error: cannot read the items: {why}")), "{told}");
        let csv = format!("$serde_json::private::{key}\n2\n");
        let told = of_file("x.csv", &csv, "  agent_template: { shell: x }").unwrap_err();
        assert!(told.starts_with(&format!("error: {why}")), "{told}");
    }
}

#[test]
fn a_mistake_in_a_line_is_reported_with_its_place() {
    let told = of_file("x.jsonl", "{\"id\": 1}\n\n  {\"id\" 2}\n", STEP).unwrap_err();
    assert_eq!(
        told,
        "error: this line is not JSON: expected `:`\n --> x.jsonl:3:9\n  |\n3 |   {\"id\" 2}\n  |         ^"
    );
    let told = of_file("x.jsonl", "{\n  \"id\": 1\n}\n", STEP).unwrap_err();
    assert!(told.starts_with("error: this line is not JSON: it ends too early; each line must be"));
    let told = of_file("x.csv", "id,name\n1,a,b\n", STEP).unwrap_err();
    assert_eq!(
        told,
        "error: this input is not CSV: line 2 has 3 fields, but the header has 2: quote text that \
         contains a comma\n --> x.csv"
    );
    let told = of_file("x.csv", "id,id\n1,2\n", STEP).unwrap_err();
    assert!(told.contains("names `id` twice"), "{told}");
    let long = format!("[\"{}\", 1 2]", "ä".repeat(5_000));
    let told = of_file("x.json", &long, STEP).unwrap_err();
    assert!(told.contains("x.json:1:5008") && told.len() < 1_000, "{told}");
}

#[test]
fn a_failing_input_command_is_reported_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let told = |input: &str| {
        read(folder.path(), &format!("map:\n  input: {input}\n{STEP}\n")).unwrap_err()
    };
    let failed = told("echo '{}' | tr -d '{}'; echo no list >&2; exit 3");
    assert!(
        failed.starts_with(
            "error: the command of the input failed: exit status 3: no list\n --> job.yml:2:"
        ),
        "{failed}"
    );
    let none = told("{ command: 'echo 5', format: json }");
    assert!(
        none.starts_with("error: `$[*]` does not lead to a list in the command's output"),
        "{none}"
    );
}

#[test]
fn filter_sort_offset_and_limit_apply_in_the_documented_order() {
    let input = r#"[
        {"id": 1, "score": 5, "path": "b.rs", "tag": "x"},
        {"id": 2, "score": 9, "path": "a.rs", "tag": "x"},
        {"id": 3, "path": "c.rs"},
        {"id": 4, "score": 9, "path": "A.rs", "tag": "y"},
        {"id": 5, "score": null, "path": "d.txt", "tag": "z"},
        {"id": 6, "score": 1, "path": "e.rs"}
    ]"#;
    for (map, expected) in [
        ("filter: score > 4", "1 2 4"),
        ("filter: \"item.score > 4 && path matches '^[a-z]'\"", "1 2"),
        ("filter: \"!(score > 4)\"", "3 5 6"),
        ("filter: \"score == null\"", "5"),
        ("sort_by: score DESC, path ASC", "4 2 1 6 3 5"),
        ("sort_by: [score, path desc]", "6 1 2 4 5 3"),
        ("{ sort_by: score DESC NULLS LAST, max_items: 2 }", "2 4"),
        ("{ sort_by: score DESC, offset: 1, max_items: 2 }", "4 1"),
        ("{ offset: 2, max_items: 3 }", "3 4 5"),
        ("distinct: tag", "1 3 4 5 6"),
        ("{ distinct: tag, filter: id > 1, sort_by: id desc, offset: 1, max_items: 3 }", "5 4 3"),
        ("{ sort_by: path, max_items: 20000 }", "4 2 1 3 5 6"),
        ("{ offset: 10 }", ""),
    ] {
        let map = map.trim_start_matches("{ ").trim_end_matches(" }");
        // Commas separate keys on one line of a map, but fields in `sort_by`.
        let parts_fields = map.contains(": score DESC, path");
        let lines = map.replace(", ", "\n  ").replace("[score\n  path", "[score, path");
        let map = if parts_fields { map.to_owned() } else { lines };
        let found = items(input, &format!("  {map}\n{STEP}"));
        let ids = found.unwrap_or_else(|told| panic!("{map}: {told}")).join(" ");
        assert_eq!(ids, expected, "{map}");
    }
    // Items that are filtered out are not checked, and do not count as equal ones.
    let input = r#"[{}, {"a": 1}, {"a": 0}, {"a": 1}, {"a": 0}]"#;
    let map = "  filter: a > 0\n  agent_template: { shell: \"x ${item.a}\" }";
    assert_eq!(items(input, map).unwrap(), ["1-9c3e82dd6fcae8b1", "1-9c3e82dd6fcae8b1~2"]);
}

#[test]
fn numbers_are_compared_by_value_with_all_of_their_digits() {
    // 2^70 and its neighbour, and the same number in several forms.
    let input = r#"[
        {"id": "a", "n": 1180591620717411303425}, {"id": "b", "n": 1180591620717411303424},
        {"id": "c", "n": 1.0}, {"id": "d", "n": 1}, {"id": "e", "n": 10e-1},
        {"id": "f", "n": 12345678901234.56789}, {"id": "g", "n": 12345678901234.56788}
    ]"#;
    for (map, expected) in [
        ("distinct: n", "a b c f g"),
        ("sort_by: n", "c d e g f b a"),
        ("filter: n == 1", "c d e"),
        ("filter: n > 1180591620717411303424", "a"),
        ("filter: n <= 12345678901234.56788", "c d e g"),
        ("json_path: $[?@.n == 1]", "c d e"),
    ] {
        let found = items(input, &format!("  {map}\n{STEP}"));
        assert_eq!(found.unwrap().join(" "), expected, "{map}");
    }
    let csv = "id,n\na,1180591620717411303425\nb,1180591620717411303424\nc,+01.0\nd,1\n";
    let sorted = of_file("x.csv", csv, &format!("  sort_by: n\n{STEP}"));
    assert_eq!(sorted.unwrap().join(" "), "c d b a");
}

#[test]
fn a_number_that_is_too_large_is_an_error_where_it_is_compared() {
    let lines = "{\"id\": \"a\", \"n\": 1}\n{\"id\": \"b\", \"n\": 1E400}\n";
    let read = |map: &str| of_file("x.jsonl", lines, &format!("  {map}\n{STEP}"));
    assert_eq!(read("filter: id != 'x'").unwrap(), ["a", "b"], "it is passed on");
    for map in ["filter: n > 5", "distinct: n", "sort_by: n"] {
        let told = read(map).unwrap_err();
        assert!(told.contains("item 2") && told.contains("1.8e308"), "{map}: {told}");
    }
}

#[test]
fn a_number_is_refused_as_a_list_of_items() {
    for input in ["1.10", "1180591620717411303424", r#"{"a": 1.10}"#] {
        let path = if input.starts_with('{') { "$.a[*]" } else { "$[*]" };
        let told = items(input, &format!("  json_path: {path}\n{STEP}")).unwrap_err();
        assert!(told.contains("a number, not a list"), "{input}: {told}");
    }
}

#[test]
fn texts_of_a_csv_are_numbers_where_numbers_are_meant() {
    let csv = "id,score\na,10\nb,9\nc,\nd,x\n";
    let ids = |map: &str| of_file("x.csv", csv, &format!("  {map}\n{STEP}"));
    assert_eq!(ids("sort_by: score DESC").unwrap(), ["d", "c", "a", "b"]);
    assert!(ids("filter: score > 9").unwrap_err().contains("for item 3 (line 4)"));
    assert_eq!(ids("filter: \"score matches '^[0-9]+$' && score > 9\"").unwrap(), ["a"]);
}

#[test]
fn items_that_cannot_be_filtered_or_sorted_are_reported() {
    let input = r#"[{"id": 1, "a": 1}, {"id": 2, "a": "x"}, {"id": 3, "l": []}]"#;
    for (map, told) in [
        (
            "filter: a > 0",
            "cannot evaluate the filter for item 2 (`$[1]`): the text \"x\" and the number 0",
        ),
        (
            "sort_by: a",
            "`a` is a number in item 1 and a text in item 2: sort by a field that has \
                        the same type",
        ),
        ("sort_by: l", "`l` of item 3 is a list, which cannot be ordered"),
        ("filter: a => 1", "a name, a number, or a text in quotes is missing here"),
        ("filter: a >", "something is missing at the end"),
        ("sort_by: a DECS", "write a field, then `ASC` or `DESC`"),
        ("sort_by: a NULLS FIRST", "come last: remove `NULLS FIRST`"),
        ("max_items: 0", "with `max_items: 0` nothing runs"),
    ] {
        let found = items(input, &format!("  {map}\n{STEP}")).unwrap_err();
        assert!(found.contains(told) && found.contains(" --> job.yml:3:"), "{map}: {found}");
    }
}

#[test]
fn an_input_is_a_file_or_a_command_and_other_values_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |input: &str| {
        let text = format!("map:\n  input: {input}\n{STEP}\n");
        read(folder.path(), &text).map_err(|told| told.lines().next().unwrap().to_owned())
    };
    assert!(
        told("items")
            .unwrap_err()
            .contains("is this a file or a command? Write `{ file: \"items\" }`")
    );
    let misspelt = told("{ files: x }").unwrap_err();
    assert!(misspelt.contains("unknown key `files`: did you mean `file`?"), "{misspelt}");
    assert!(told("{ file: x, command: y }").unwrap_err().contains("keep one"));
    assert!(told("{ file: x, format: jsno }").unwrap_err().contains("did you mean `json`?"));
    let path = "x.jsonl\n  json_path: \"$.items[*]\"";
    assert!(told(path).unwrap_err().contains("`json_path` selects from a single JSON document"));
    assert_eq!(told("./none 2>/dev/null; true"), Ok(Vec::new()));
}
