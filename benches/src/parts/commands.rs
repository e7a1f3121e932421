//! The cost of running many short commands: our command, xargs, and GNU parallel with a job log.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::jobs::{Folder, Thousands, build};
use crate::race::median;
use crate::report::{Report, Section};
use crate::scratch::target_folder;
use crate::table::Table;

/// The number of commands in a run; each is a shell that does nothing.
const COMMANDS: u32 = 2_000;

/// The same work for each: a line of the input is the argument.
const WORKFLOW: &str = "\
name: chores
map:
  input: { file: chores.txt, format: lines }
  max_parallel: 4
  agent_template: { shell: \": ${item}\" }
";

/// The programs that run the commands, four at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Racer {
    Ours,
    Xargs,
    Parallel,
}

impl Racer {
    const ALL: [Self; 3] = [Self::Ours, Self::Xargs, Self::Parallel];

    const fn name(self) -> &'static str {
        match self {
            Self::Ours => "`retry-workflow run`",
            Self::Xargs => "`xargs -P4 sh -c`",
            Self::Parallel => "GNU `parallel -j4 --joblog`",
        }
    }

    fn command(self, folder: &Path) -> Command {
        let (program, arguments): (_, &[&str]) = match self {
            Self::Ours => ("retry-workflow", &["run", "chores.yml", "--quiet"]),
            Self::Xargs => ("xargs", &["-P4", "-n1", "sh", "-c", ": \"$1\"", "sh"]),
            Self::Parallel => ("parallel", &["-j4", "--joblog", "log", ": {}"]),
        };
        let mut command = match program {
            "retry-workflow" => Command::new(target_folder().join("release").join(program)),
            other => Command::new(other),
        };
        let input = File::open(folder.join("chores.txt")).expect("it was written just now");
        // Without this file, GNU parallel asks to be cited.
        command.args(arguments).current_dir(folder).env("HOME", folder).env("SHELL", "/bin/sh");
        command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns `true` if it is installed.
    fn is_there(self) -> bool {
        let mut command = match self {
            Self::Ours => return true,
            Self::Xargs => Command::new("xargs"),
            Self::Parallel => Command::new("parallel"),
        };
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Runs the commands in a new folder; returns commands per second.
    fn run(self) -> f64 {
        let folder = Folder::new("commands");
        let chores: Vec<_> = (0..COMMANDS).map(|number| number.to_string()).collect();
        fs::write(folder.0.join("chores.txt"), chores.join("\n") + "\n")
            .expect("a writable folder");
        fs::write(folder.0.join("chores.yml"), WORKFLOW).expect("a writable folder");
        let mut command = self.command(&folder.0);
        let start = Instant::now();
        let status = command.status().expect("it is there");
        let spent = start.elapsed();
        assert!(status.success(), "{self:?} failed");
        f64::from(COMMANDS) / spent.as_secs_f64()
    }
}

/// Adds the section to the report, with the median of `runs` alternating runs.
pub fn run(report: &mut Report, runs: usize) {
    build(&["-p", "retry-workflow-cli", "--bin", "retry-workflow"], Path::new("../Cargo.toml"));
    let (there, missing): (Vec<_>, Vec<_>) =
        Racer::ALL.into_iter().partition(|racer| racer.is_there());
    let mut rates = vec![Vec::with_capacity(runs); there.len()];
    for _ in 0..runs {
        for (racer, rates) in there.iter().zip(&mut rates) {
            rates.push(racer.run());
        }
    }
    let rates: Vec<f64> = rates.into_iter().map(median).collect();
    let ours = rates[0];
    let mut section = Section::new("How many commands does a job run in a second?");
    let mut table = Table::new(1, ["by", "commands per second", "`retry-workflow run` ÷ this"]);
    for (racer, rate) in there.iter().zip(&rates) {
        let ratio = ours / rate;
        let mark = if ratio < 0.97 { "**" } else { "" };
        let ratio = match racer {
            Racer::Ours => String::new(),
            _ => format!("{mark}{ratio:.2}{mark}"),
        };
        table.row([racer.name().to_owned(), Thousands(*rate).to_string(), ratio]);
    }
    section.table(table);
    section.note(format!(
        "{COMMANDS} runs of a shell that does nothing, with a line of a file as its argument, 4 at a \
         time; the median of {runs} runs. `retry-workflow` writes each attempt to a SQLite store \
         before the next one takes its place, and continues from there after a crash. Here more is \
         better: **bold** marks figures where another program does more."
    ));
    for racer in missing {
        section.note(format!("{} is not installed here.", racer.name()));
    }
    report.add(section);
}
