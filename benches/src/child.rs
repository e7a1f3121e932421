//! What other processes find out: callgrind counts instructions, `count` allocations,
//! and `fail` times calls that fail.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, io};

use crate::calls::Successes;
use crate::contest::Figures;
use crate::policies::seconds;
use crate::scratch;

/// The argument by which this program is asked to make calls, and to do nothing else.
pub const MAKE_CALLS: &str = "make-calls";

/// What a child finds out. It prints a line for each contender: the name of the
/// finding, that of the contender, the number; with tabs between them.
#[derive(Clone, Copy, Debug)]
pub enum Finding {
    /// Allocations of a call that succeeds at once.
    SuccessAllocations,
    /// Allocations of a call that fails, and does not wait.
    FailureAllocations,
    /// Nanoseconds of the same.
    FailureTime,
    /// Allocations of a call that fails, and waits.
    FailureWithWaitsAllocations,
    /// Nanoseconds of the same, waits left out.
    FailureWithWaitsTime,
    /// Bytes on the heap for a call that waits.
    WaitingBytes,
}

impl Finding {
    /// Tells the parent of one contender.
    pub fn print(self, contender: &str, number: f64) {
        println!("{self:?}\t{contender}\t{number}");
    }

    /// Tells the parent of all contenders.
    pub fn print_all(self, figures: &Figures) {
        for (contender, number) in figures {
            self.print(contender, *number);
        }
    }

    /// What a child has told.
    fn read(self, line: &str) -> Option<(String, f64)> {
        let (contender, number) = line.strip_prefix(&format!("{self:?}\t"))?.split_once('\t')?;
        Some((contender.to_owned(), number.parse().ok()?))
    }
}

/// All that a child has found out.
#[derive(Debug)]
pub struct Findings(String);

impl Findings {
    /// Those of a program of this package, which cargo may have to build first: with a
    /// feature that would change the figures of this one.
    ///
    /// # Panics
    ///
    /// If it fails.
    pub fn of_program(name: &str, feature: &str) -> Self {
        let output = scratch::cargo()
            .args(["run", "--quiet", "--release", "--bin", name, "--features", feature])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
            .arg("--target-dir")
            .arg(scratch::target_folder())
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "`{name}` failed");
        Self(text(output.stdout))
    }

    /// The figures of one finding.
    pub fn of(&self, finding: Finding) -> Figures {
        self.0.lines().filter_map(|line| finding.read(line)).collect()
    }
}

/// Makes so many calls that succeed, for a parent that counts instructions.
pub fn make_calls(contender: &str, calls: u64) {
    let mut successes = Successes::default();
    seconds::contenders::each(&mut successes);
    for runner in successes.runners.iter_mut().filter(|runner| runner.name() == contender) {
        runner.run(calls);
    }
}

/// The instructions of one call that succeeds; nothing if there is no valgrind.
pub fn instructions(contender: &str) -> Option<f64> {
    instructions_of(&env::current_exe().ok()?, &[MAKE_CALLS, contender])
}

/// The same of a program that makes so many calls as its last argument says.
pub fn instructions_of(program: &Path, arguments: &[&str]) -> Option<f64> {
    const CALLS: u32 = 20_000;
    // The start of the program and of the contender is in both, and goes out.
    let once = callgrind(program, arguments, CALLS).ok()?;
    let twice = callgrind(program, arguments, 2 * CALLS).ok()?;
    Some((twice - once) / f64::from(CALLS))
}

fn callgrind(program: &Path, arguments: &[&str], calls: u32) -> io::Result<f64> {
    let Output { stderr, .. } = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .arg(calls.to_string())
        .output()?;
    let printed = text(stderr);
    let collected = printed.lines().find_map(|line| line.split_once("Collected : "));
    collected
        .and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| io::Error::other(printed.clone()))
}

fn text(output: Vec<u8>) -> String {
    String::from_utf8(output).expect("children print UTF-8")
}
