//! Runs the benchmarks, and prints the contents of `docs/BENCHMARKS.md`.
//!
//! ```sh
//! cargo run --release --manifest-path benches/Cargo.toml > docs/BENCHMARKS.md    # everything
//! cargo run --release --manifest-path benches/Cargo.toml -- calls breakers  # some parts
//! cargo run --release --manifest-path benches/Cargo.toml -- build --runs 1  # in a hurry
//! ```
//!
//! The parts are `calls`, `breakers`, `jobs`, `board`, `commands` and `weight`, which take a minute or two
//! (`jobs` takes ten if there is a Postgres server), `compile` and `build`, which run cargo many
//! times and take much longer, and `growth`, which takes ten minutes and 10 GB of disk, or two with
//! `--quick`, which leaves the largest size out. Figures from different machines or days are not
//! comparable, but the ratios are, because the entries of a table are measured in alternation.

use std::process::ExitCode;

use retry_benches::report::Report;
use retry_benches::{child, parts};

const PARTS: [&str; 9] =
    ["calls", "breakers", "jobs", "board", "commands", "compile", "build", "weight", "growth"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [child::MAKE_CALLS, contender, calls] = arguments[..] {
        child::make_calls(contender, calls.parse().expect("a number of calls"));
        return ExitCode::SUCCESS;
    }
    if cfg!(debug_assertions) {
        eprintln!("figures of a debug build say nothing: add `--release`");
        return ExitCode::FAILURE;
    }
    match Wanted::read(&arguments) {
        Ok(wanted) => {
            print!("{}", wanted.measure());
            ExitCode::SUCCESS
        }
        Err(argument) => {
            eprintln!(
                "unknown argument `{argument}`: there are {PARTS:?}, `--runs <number>` and `--quick`"
            );
            ExitCode::FAILURE
        }
    }
}

/// The command line.
struct Wanted<'a> {
    parts: Vec<&'a str>,
    /// The number of runs of cargo or a job for each figure.
    runs: usize,
    /// `true` if the largest size of each growing thing is left out.
    is_quick: bool,
}

impl<'a> Wanted<'a> {
    /// Parses the arguments: all parts if none is named. The error is the unknown argument.
    fn read(arguments: &[&'a str]) -> Result<Self, &'a str> {
        let mut wanted = Self { parts: Vec::new(), runs: 5, is_quick: false };
        let mut arguments = arguments.iter().copied();
        while let Some(argument) = arguments.next() {
            if argument == "--runs" {
                let runs = arguments.next().and_then(|runs| runs.parse().ok());
                wanted.runs = runs.filter(|runs| *runs > 0).ok_or(argument)?;
            } else if argument == "--quick" {
                wanted.is_quick = true;
            } else if PARTS.contains(&argument) {
                wanted.parts.push(argument);
            } else {
                return Err(argument);
            }
        }
        if wanted.parts.is_empty() {
            wanted.parts.extend(PARTS);
        }
        Ok(wanted)
    }

    fn measure(&self) -> Report {
        let mut report = Report::default();
        for part in &self.parts {
            eprintln!("measuring: {part}");
            match *part {
                "calls" => parts::calls::run(&mut report),
                "breakers" => parts::breakers::run(&mut report),
                "jobs" => parts::jobs::run(&mut report, self.runs),
                "board" => parts::board::run(&mut report),
                "commands" => parts::commands::run(&mut report, self.runs),
                "compile" => parts::compile::run(&mut report, self.runs),
                "build" => parts::build::run(&mut report, self.runs),
                "weight" => parts::weight::run(&mut report),
                _ => parts::growth::run(&mut report, self.runs, self.is_quick),
            }
        }
        report
    }
}
