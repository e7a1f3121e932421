//! Measurements in other processes: callgrind counts instructions, `count` counts allocations, and
//! `fail` times failing calls.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, io};

use crate::calls::Successes;
use crate::contest::Figures;
use crate::policies::seconds;
use crate::scratch;

/// The argument that makes this program make calls and nothing else.
pub const MAKE_CALLS: &str = "make-calls";

/// The measurements of a child process. It prints a line per contender: the name of the finding,
/// the name of the contender and the number, separated by tabs.
#[derive(Clone, Copy, Debug)]
pub enum Finding {
    /// Allocations of a call that succeeds at once.
    SuccessAllocations,
    /// Allocations of a call that fails without waiting.
    FailureAllocations,
    /// The time of the same in nanoseconds.
    FailureTime,
    /// Allocations of a call that fails, with waits.
    FailureWithWaitsAllocations,
    /// The time of the same in nanoseconds, without the waits.
    FailureWithWaitsTime,
    /// Bytes on the heap per waiting call.
    WaitingBytes,
    /// Bytes on the heap per key of a family of breakers; the contender is the number of keys.
    KeyBytes,
}

impl Finding {
    /// Reports a finding on one contender to the parent.
    pub fn print(self, contender: &str, number: f64) {
        println!("{self:?}\t{contender}\t{number}");
    }

    /// Reports a finding on all contenders to the parent.
    pub fn print_all(self, figures: &Figures) {
        for (contender, number) in figures {
            self.print(contender, *number);
        }
    }

    /// Parses a line of a child's output.
    fn read(self, line: &str) -> Option<(String, f64)> {
        let (contender, number) = line.strip_prefix(&format!("{self:?}\t"))?.split_once('\t')?;
        Some((contender.to_owned(), number.parse().ok()?))
    }
}

/// The output of a child process.
#[derive(Debug)]
pub struct Findings(String);

impl Findings {
    /// Runs a program of this package, which cargo builds first if necessary. It needs a feature
    /// that would change the figures of this program.
    ///
    /// # Panics
    ///
    /// Panics if the program fails.
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

/// Makes this many successful calls, for a parent that counts instructions.
pub fn make_calls(contender: &str, calls: u64) {
    let mut successes = Successes::default();
    seconds::contenders::each(&mut successes);
    for runner in successes.runners.iter_mut().filter(|runner| runner.name() == contender) {
        runner.run(calls);
    }
}

/// The instructions of one successful call; `None` without valgrind.
pub fn instructions(contender: &str) -> Option<f64> {
    instructions_of(&env::current_exe().ok()?, &[MAKE_CALLS, contender])
}

/// The same for another program, which makes as many calls as its last argument says.
pub fn instructions_of(program: &Path, arguments: &[&str]) -> Option<f64> {
    const CALLS: u32 = 20_000;
    // The start of the program and of the contender is in both counts and cancels out.
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
