//! The machine and the date of the figures.

use std::process::Command;
use std::thread;

/// Processor, cores, compiler and date in one line.
pub fn describe() -> String {
    format!(
        "{}, {} cores; {}; {}",
        processor().unwrap_or_else(|| "an unknown processor".to_owned()),
        cores(),
        said_by("rustc", &["--version"]),
        said_by("date", &["--utc", "+%F"]),
    )
}

/// The number of threads that can run at the same time.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| format!("{program} is not there"),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
