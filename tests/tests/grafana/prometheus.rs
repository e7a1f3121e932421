//! The alerts in a real Prometheus that scrapes the scenario, an hour in half a minute.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retry_tests_support::ports::Port;
use serde_json::{Value, json};

use super::alerts::{FIRES, has_promtool};
use super::folder;
use super::scenario::scraped;
use super::scrape::{EVERY, Series};

/// The length of a minute of the scenario.
const MINUTE: Duration = Duration::from_millis(400);

/// The length here of a time in the scenario.
fn scaled(time: Duration) -> Duration {
    time * u32::try_from(MINUTE.as_millis()).unwrap() / 60_000
}

/// The alerts with their minutes as short as those of the scenario.
fn scaled_alerts() -> String {
    let alerts = std::fs::read_to_string(folder().join("alerts.yml")).unwrap();
    let minutes = regex::Regex::new(r"(\[|for: )(\d+)m\b").unwrap();
    let scaled = minutes.replace_all(&alerts, |found: &regex::Captures<'_>| {
        let minutes: u128 = found[2].parse().unwrap();
        format!("{}{}ms", &found[1], minutes * MINUTE.as_millis())
    });
    assert!(scaled.matches("ms").count() >= 10, "{scaled}");
    scaled.into_owned()
}

/// The metrics that are exported at a scrape, counted from 0.
fn page(scrape: usize) -> String {
    let mut page = String::new();
    for (Series { name, labels }, values) in &scraped().series {
        let Some(value) = &values[scrape.min(values.len() - 1)] else { continue };
        let labels: Vec<_> = labels.iter().map(|(name, text)| format!("{name}={text:?}")).collect();
        writeln!(page, "{name}{{{}}} {value}", labels.join(",")).unwrap();
    }
    page
}

/// Answers each scrape with what is exported by then; the scenario begins with the first one.
fn export(listener: &TcpListener) {
    let mut began = None;
    for socket in listener.incoming() {
        let Ok(mut socket) = socket else { return };
        let mut head = BufReader::new(&socket).lines();
        while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let since = began.get_or_insert_with(Instant::now).elapsed();
        let scrape = since.as_micros() / scaled(EVERY).as_micros();
        let page = page(usize::try_from(scrape).unwrap());
        // If the scrape was given up, the answer is not missed.
        let _ = write!(
            socket,
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{page}",
            page.len()
        );
    }
}

struct Prometheus {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
    _port: Port,
}

impl Prometheus {
    /// Starts one that scrapes this address, and evaluates the alerts as often as it scrapes.
    fn start(scraped: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let every = format!("{}ms", scaled(EVERY).as_millis());
        let config = json!({
            "global": {
                "scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every,
            },
            "rule_files": ["alerts.yml"],
            "scrape_configs": [{ "job_name": "shop", "static_configs": [{ "targets": [scraped] }] }],
        });
        let file = folder.path().join("prometheus.yml");
        // JSON is YAML.
        std::fs::write(&file, config.to_string()).unwrap();
        std::fs::write(folder.path().join("alerts.yml"), scaled_alerts()).unwrap();
        let port = Port::find();
        let address = format!("127.0.0.1:{}", port.number());
        let mut process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while !get(&address, "/-/ready").is_ok_and(|answer| answer.contains(" 200 OK")) {
            assert!(process.try_wait().unwrap().is_none(), "Prometheus does not start");
            assert!(began.elapsed() < Duration::from_mins(1), "Prometheus is not ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, address, _folder: folder, _port: port }
    }

    /// The labels of each alert that is pending or fires, and whether it fires.
    fn alerts(&self) -> Vec<(Value, bool)> {
        let answer = get(&self.address, "/api/v1/alerts").unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let told: Value = serde_json::from_str(body).unwrap();
        let alerts = told["data"]["alerts"].as_array().unwrap();
        alerts.iter().map(|alert| (alert["labels"].clone(), alert["state"] == "firing")).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn get(address: &str, path: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    // In this version of HTTP, an answer comes in one piece.
    write!(socket, "GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n")?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
#[ignore = "waits for half a minute: a step of `.ci/run`"]
fn each_alert_fires_and_resolves_in_prometheus() {
    if !has_promtool() {
        return;
    }
    let scrapes = scraped().series.values().map(Vec::len).max().unwrap();
    let lasts = scaled(EVERY) * u32::try_from(scrapes).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || export(&listener));
    let prometheus = Prometheus::start(&address);
    let expected: BTreeSet<_> = FIRES.iter().map(|(alert, labels, _)| (*alert, *labels)).collect();
    let mut fired = BTreeSet::new();
    let began = Instant::now();
    loop {
        let alerts = prometheus.alerts();
        fired.extend(expected.iter().copied().filter(|(name, labels)| {
            alerts.iter().any(|(found, fires)| {
                *fires
                    && found["alertname"] == *name
                    && labels.iter().all(|(label, text)| found[*label] == *text)
            })
        }));
        if began.elapsed() > lasts && alerts.is_empty() {
            break;
        }
        let unresolved = began.elapsed() < lasts + Duration::from_mins(1);
        assert!(unresolved, "still there: {alerts:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fired, expected);
}
