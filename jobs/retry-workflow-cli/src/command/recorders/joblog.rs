//! [`Joblog`]: one line for each attempt that has ended, in the columns of GNU parallel.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

use parking_lot::Mutex;

use crate::command::outcome::CommandError;
use crate::steps::temporary::for_owner;
use crate::terminal::text::one_line;
use retry_workflow::store::{AttemptOutcome, AttemptRecord};

const HEADING: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand";
/// The exit status of an attempt that did not exit by itself.
const NO_EXIT: i32 = -1;

/// A joblog file, which is appended to.
#[derive(Debug)]
pub(super) struct Joblog(Mutex<Numbered>);

#[derive(Debug)]
struct Numbered {
    file: File,
    /// The number of lines, without the heading.
    lines: u64,
}

impl Joblog {
    /// Opens or creates a joblog. The heading is written once.
    pub(super) fn open(path: &Path) -> Result<Self, CommandError> {
        let failed = |error: &io::Error| {
            CommandError::Usage(format!("cannot write the joblog {}: {error}", path.display()))
        };
        let opened = for_owner().read(true).append(true).create(true).open(path);
        let mut file = opened.map_err(|error| failed(&error))?;
        let begun = ExistingLog::read(&file).map_err(|error| failed(&error))?;
        if begun.is_other {
            return Err(CommandError::Usage(format!(
                "{} is not a joblog, because its first line is not `Seq Host …`: name another file",
                path.display()
            )));
        }
        let missing = match begun.lines {
            0 => format!("{HEADING}\n"),
            // The previous writer was killed in the middle of a line.
            _ if begun.is_torn => "\n".to_owned(),
            _ => String::new(),
        };
        file.write_all(missing.as_bytes()).map_err(|error| failed(&error))?;
        Ok(Self(Mutex::new(Numbered { file, lines: begun.lines.saturating_sub(1) })))
    }

    /// Appends the line of an attempt.
    pub(super) fn add(&self, job: &str, item: &str, attempt: &AttemptRecord) -> io::Result<()> {
        let mut numbered = self.0.lock();
        numbered.lines += 1;
        let line = line(numbered.lines, job, item, attempt);
        // Unbuffered, so that a killed process leaves a line for every attempt that has ended.
        numbered.file.write_all(line.as_bytes())
    }
}

/// The contents of an existing file.
#[derive(Default)]
struct ExistingLog {
    lines: u64,
    is_torn: bool,
    is_other: bool,
}

impl ExistingLog {
    fn read(file: &File) -> io::Result<Self> {
        let mut begun = Self::default();
        // A pipe or a device cannot be read back.
        if !file.metadata()?.is_file() {
            return Ok(begun);
        }
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            begun.is_torn = !line.ends_with(b"\n");
            if begun.lines == 0 && line.trim_ascii_end() != HEADING.as_bytes() {
                begun.is_other = true;
                break;
            }
            begun.lines += 1;
            line.clear();
        }
        Ok(begun)
    }
}

fn line(number: u64, job: &str, item: &str, attempt: &AttemptRecord) -> String {
    let micros = attempt.started.as_micros().max(0);
    let (seconds, millis) = (micros / 1_000_000, micros % 1_000_000 / 1_000);
    let (exit, signal) = ended(attempt);
    let step = attempt.step.as_deref().map(|step| format!(" {}", one_line(step)));
    format!(
        "{number}\t:\t{seconds}.{millis:03}\t{:10.3}\t0\t0\t{exit}\t{signal}\t{}/{}/{}-{}{}\n",
        attempt.duration.as_secs_f64(),
        one_line(job),
        one_line(item),
        attempt.run,
        attempt.attempt,
        step.unwrap_or_default(),
    )
}

/// The exit status and the signal of an attempt.
fn ended(attempt: &AttemptRecord) -> (i32, i32) {
    let output = attempt.failure.as_ref().and_then(|failure| failure.output.as_deref());
    match (attempt.outcome, output.and_then(|it| it.exit_code), output.and_then(|it| it.signal)) {
        (AttemptOutcome::Succeeded, ..) => (0, 0),
        (_, Some(code), _) => (code, 0),
        (_, None, Some(signal)) => (0, signal),
        (_, None, None) => (NO_EXIT, 0),
    }
}
