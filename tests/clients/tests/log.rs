//! A program that logs by the `log` crate and has no subscriber of `tracing`.

use std::sync::Mutex;

use log::{Level, LevelFilter, Log, Metadata, Record};
use retry_runtime::retry;

static SEEN: Mutex<Vec<(Level, String, String)>> = Mutex::new(Vec::new());

struct Logger;

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = record.args().to_string();
        SEEN.lock().unwrap().push((record.level(), record.target().to_owned(), line));
    }

    fn flush(&self) {}
}

#[retry(attempts = 2, initial_delay = "1ms", name = "shop.fetch")]
fn fetch() -> Result<(), &'static str> {
    Err("connection refused")
}

#[test]
fn events_reach_a_program_that_logs_by_the_log_crate() {
    log::set_logger(&Logger).unwrap();
    log::set_max_level(LevelFilter::Debug);
    assert!(fetch().is_err());
    let seen = SEEN.lock().unwrap();
    let ours: Vec<_> = seen.iter().filter(|(_, target, _)| target == "retry").collect();
    let [(Level::Debug, _, failed), (Level::Warn, _, gave_up)] = ours[..] else {
        panic!("{seen:#?}")
    };
    assert!(failed.contains("name=\"shop.fetch\"") && failed.contains("attempt=1"), "{failed}");
    assert!(gave_up.contains("reason=\"attempts\""), "{gave_up}");
    assert!(gave_up.contains("connection refused"), "{gave_up}");
}
