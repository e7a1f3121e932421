//! `rate` and `concurrency`: how many items start per unit of time, and how many that share a key.
//! `slow_down_on`: how many run while a service rejects some of them.

use std::time::{Duration, Instant};

use super::support::{Place, until};

/// Seven items, each of which notes when it starts and ends, in milliseconds.
fn place(limits: &str) -> Place {
    let items = ["a1", "a2", "a3", "b1", "b2", "c1", "c2"];
    let items = items.map(|id| serde_json::json!({ "id": id, "host": &id[..1], "n": 1, "m": 1 }));
    Place::with(&format!(
        "name: job\nmap:\n  input: items.json\n{limits}\n  agent_template:\n    - exec: ['./call.sh', '${{item.host}}']\n"
    ))
    .file("items.json", &serde_json::json!(items).to_string())
    .script("call.sh", "echo $1 $(date +%s%3N) >> starts; sleep 0.1; echo $1 $(date +%s%3N) >> ends; ! [ -f broken ]")
}

/// The times at which a host was called, or all of them, in order.
fn times(place: &Place, file: &str, host: &str) -> Vec<i64> {
    let of = |line: &str| {
        let (named, at) = line.split_once(' ').unwrap();
        named.starts_with(host).then(|| at.parse().unwrap())
    };
    let mut times: Vec<i64> = place.read(file).lines().filter_map(of).collect();
    times.sort_unstable();
    times
}

/// Asserts that `work` takes at least as long as the intervals of its rate.
///
/// The whole command is measured: a process may start late on a busy machine, which shortens the times
/// between the first and the last start that the processes note themselves.
fn takes_at_least(intervals: Duration, work: impl FnOnce()) {
    let began = Instant::now();
    work();
    let took = began.elapsed();
    assert!(took >= intervals, "{took:?}, not {intervals:?}");
}

#[test]
fn all_items_together_keep_to_the_rate() {
    let place = place("  rate: 10/s");
    takes_at_least(Duration::from_millis(600), || {
        place.ends(0, &["run", "job.yml"]);
    });
    assert_eq!(times(&place, "starts", "").len(), 7);
}

#[test]
fn each_host_keeps_to_its_rate_and_concurrency() {
    let place = place(
        "  rate: { per: '${item.host}', limit: 2/s }\n  concurrency: { per: '${item.host}', limit: 1 }",
    );
    takes_at_least(Duration::from_secs(1), || {
        place.ends(0, &["run", "job.yml"]);
    });
    let (starts, ends) = (times(&place, "starts", "a"), times(&place, "ends", "a"));
    assert_eq!(starts.len(), 3);
    assert!(starts[1] >= ends[0] && starts[2] >= ends[1], "{starts:?} {ends:?}");
    let shown = place.ends(0, &["items", "show", "a3"]);
    shown.says("succeeded, run 0, attempt 1").says("   1. succeeded");
}

#[test]
fn a_rate_given_to_the_command_holds_for_all_that_is_left() {
    let place = place("  max_parallel: 1");
    let stops = "error_policy: { max_failures: 1 }\nmap:";
    place.write("job.yml", &place.read("job.yml").replacen("map:", stops, 1));
    place.write("broken", "");
    place.ends(1, &["run", "job.yml"]);
    assert_eq!(times(&place, "starts", "").len(), 1, "six are left");
    std::fs::remove_file(place.path("broken")).unwrap();
    std::fs::remove_file(place.path("starts")).unwrap();
    let retry = ["dlq", "retry", "job-1", "--rate", "10/s", "--max-parallel", "7"];
    takes_at_least(Duration::from_millis(600), || {
        place.ends(0, &retry).says("1 dead letter re-driven at 10/s");
    });
    assert_eq!(times(&place, "starts", "").len(), 7);
}

#[test]
fn rejections_by_a_service_reduce_the_items_that_run() {
    let place = place("  slow_down_on: rate_limit").script(
        "call.sh",
        "if mkdir free; then sleep 0.8; rmdir free; else echo 429 Too Many Requests >&2; exit 1; fi",
    );
    let text = place.read("job.yml");
    let retries = "      retry_config: { attempts: 9, initial_delay: 100ms }\n";
    let place = place.file("job.yml", &format!("{text}{retries}"));
    let ran = place.ends(0, &["run", "job.yml", "--events"]);
    let throttled = r#"{"limit":1,"max_parallel":10,"reason":"throttled"}"#;
    assert!(ran.out.contains(throttled), "{ran:#?}");
}

/// Stops the command when this many items have ended, and the others wait for a rate.
fn starts(place: &Place, arguments: &[&str], count: usize) {
    let running = place.spawn(arguments);
    until("they have ended", || place.read("ends").lines().count() == count);
    until("the others wait", || {
        place.ran(&["status", "job-1"]).out.contains(" used, the next free start is ")
    });
    running.signal("INT");
    running.ended();
    assert_eq!(times(place, "starts", "").len(), count);
}

#[test]
fn what_is_used_of_a_cost_stays_with_its_text() {
    let (tokens, pages) = ("limit: 200/d, cost: '${item.tokens}'", "cost: '${item.pages}', limit:");
    let before = format!("[{{ {tokens} }}, {{ {pages} 20/d }}]");
    let place = place(&format!("  rate: {before}"));
    let item = |id| serde_json::json!({ "id": id, "host": "a", "tokens": 7, "pages": 10 });
    let items: Vec<_> = (0..5).map(item).collect();
    place.write("items.json", &serde_json::json!(items).to_string());
    starts(&place, &["run", "job.yml"], 2);
    let after = format!("[{{ {pages} 40/d }}, {{ {tokens} }}]");
    place.write("job.yml", &place.read("job.yml").replace(&before, &after));
    starts(&place, &["resume", "job-1"], 4);
    let status = place.ends(0, &["status", "job-1"]);
    status.says("40/d at most: 40 used, the next free start is ").says("200/d at most: 28 used");
}

/// The times at which four items are due, all of them in more than an hour.
fn waits(place: &Place) -> Option<Vec<serde_json::Value>> {
    let items = place.objects(&["items", "list", "job-1", "--state", "pending"]);
    let dues: Vec<_> = items.iter().map(|item| item["due"].clone()).collect();
    let hour = (retry_workflow::Timestamp::now() + Duration::from_secs(3_600)).to_string();
    (items.len() == 4 && dues.iter().all(|due| due.as_str() > Some(&hour))).then_some(dues)
}

/// Runs one item of each host, and stops when the others wait for the next day.
fn one_a_day(rate: &str) -> Place {
    let place = place(&format!("  rate: {rate}"));
    let running = place.spawn(&["run", "job.yml"]);
    until("the others wait", || waits(&place).is_some());
    running.signal("INT");
    running.ended();
    assert_eq!(times(&place, "starts", "").len(), 3);
    place
}

/// The windows of two keys are not those of each other, whichever is written first.
#[test]
fn what_is_used_of_a_key_stays_with_its_text() {
    let host = "{ per: '${item.host}', limit: 1/d }";
    let place = one_a_day(host);
    let before = waits(&place);
    let both = format!("[{host}, {{ per: '# ${{item.host}}', limit: 100/d }}]");
    place.write("job.yml", &place.read("job.yml").replace(host, &both));
    let running = place.spawn(&["resume", "job-1"]);
    until("they wait again", || {
        let now = waits(&place);
        times(&place, "starts", "").len() > 3 || now.is_some() && now != before
    });
    running.signal("INT");
    running.ended();
    assert_eq!(times(&place, "starts", "").len(), 3);
}

#[test]
fn no_item_waits_for_a_window_whose_key_or_cost_was_edited() {
    let host = "{ per: '${item.host}', cost: '${item.n}', limit: 1/d }";
    for (text, edited) in [("per: '${item.host", "per: '${item.id"), ("item.n", "item.m")] {
        let place = one_a_day(host);
        place.write("job.yml", &place.read("job.yml").replacen(text, edited, 1));
        let running = place.spawn(&["resume", "job-1"]);
        until("others start", || times(&place, "starts", "").len() > 3);
        running.signal("INT");
        running.ended();
    }
}

/// The first process has a place for one item, and the second one joins it with another file.
#[test]
fn places_of_a_key_stay_with_its_text() {
    let host = "{ per: '${item.host}', limit: 1 }";
    let place = place(&format!("  max_parallel: 1\n  concurrency: {host}")).script(
        "call.sh",
        "echo $1 starts >> log; until [ -e go ]; do sleep 0.05; done; echo $1 ends >> log",
    );
    let first = place.spawn(&["run", "job.yml"]);
    until("an item runs", || !place.read("log").is_empty());
    let both = format!("[{{ per: '# ${{item.host}}', limit: 9 }}, {host}]");
    let text = place.read("job.yml").replace(host, &both).replace("parallel: 1", "parallel: 9");
    place.write("job.yml", &text);
    let second = place.spawn(&["resume", "job-1"]);
    until("other hosts are called", || ["b", "c"].iter().all(|it| place.read("log").contains(it)));
    place.write("go", "");
    for running in [first, second] {
        assert_eq!(running.ended().code, Some(0));
    }
    let log = place.read("log");
    for (host, items) in [("a", 3), ("b", 2), ("c", 2)] {
        let of_host: Vec<_> = log.lines().filter(|line| line.starts_with(host)).collect();
        let one_by_one = [format!("{host} starts"), format!("{host} ends")];
        assert_eq!(of_host, [one_by_one[0].as_str(), &one_by_one[1]].repeat(items), "{log}");
    }
}

#[test]
fn a_rate_given_to_the_command_replaces_the_rates_of_all_items() {
    let place = place("  rate: [20/s, 2/h, { per: '${item.host}', limit: 20/s }]");
    starts(&place, &["run", "job.yml"], 2);
    place
        .ends(0, &["status", "job-1"])
        .says("rate      2/h at most: 2 used, the next free start is ");
    place.ends(0, &["resume", "job-1", "--rate", "20/s"]);
    assert_eq!(times(&place, "starts", "").len(), 7);
}

#[test]
fn an_edited_payload_without_a_valid_cost_does_not_run() {
    let place = place("  rate: { limit: 10/s, cost: '${item.n}' }");
    place.write("items.json", r#"[{ "id": "a", "host": "a", "n": 11 }]"#);
    place.ends(3, &["run", "job.yml"]);
    place
        .ends(0, &["dlq", "show", "a"])
        .says("payload")
        .says("its cost of 11 is above the limit of 10/s");
    for (payload, code, started) in [("0", 3, false), ("5", 0, true)] {
        place.write("edited.json", &format!(r#"{{ "id": "a", "host": "a", "n": {payload} }}"#));
        place.ends(code, &["dlq", "retry", "job-1", "--item", "a", "--edit", "edited.json"]);
        assert_eq!(place.path("starts").exists(), started, "{payload}");
    }
}
