//! [`OutputTap`]: the output of commands, saved to a file per item (`--results`), and shown while
//! they run (`-v`).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::progress::ProgressReporter;
use crate::command::arguments::RunArguments;
use crate::steps::tap::{Sink, Tap};
use crate::steps::temporary::for_owner;
use retry_workflow::ItemContext;
use retry_workflow::work::fnv1a;

/// The destinations of the output of commands.
#[derive(Debug)]
pub(super) struct OutputTap {
    folder: Option<PathBuf>,
    verbose: bool,
    reporter: Arc<ProgressReporter>,
    /// A write failure is reported once.
    has_failed: Arc<AtomicBool>,
}

impl Tap for OutputTap {
    fn sinks(&self, attempt: &ItemContext, is_begun: bool) -> [Vec<Sink>; 2] {
        ["stdout", "stderr"].map(|stream| {
            let mut sinks: Vec<Sink> = Vec::new();
            if let Some(folder) = &self.folder {
                sinks.extend(self.file(folder, attempt, stream, is_begun));
            }
            if self.verbose {
                let (item, reporter) = (attempt.id().to_owned(), Arc::clone(&self.reporter));
                sinks.push(Box::new(Live { item, reporter, line: Vec::new() }));
            }
            sinks
        })
    }
}

impl OutputTap {
    pub(super) fn new(how: &RunArguments, reporter: Arc<ProgressReporter>) -> Self {
        let (folder, verbose) = (how.results.clone(), how.verbose);
        Self { folder, verbose, reporter, has_failed: Arc::default() }
    }

    /// The file of a stream: `ITEM/RUN-ATTEMPT.stdout`.
    fn file(
        &self,
        folder: &Path,
        attempt: &ItemContext,
        stream: &str,
        is_begun: bool,
    ) -> Option<Sink> {
        let folder = folder.join(file_name(attempt.id()));
        let path = folder.join(format!("{}-{}.{stream}", attempt.run(), attempt.attempt()));
        let mut options = for_owner();
        if is_begun {
            options.append(true).create(true);
        } else {
            options.write(true).truncate(true).create(true);
        }
        let opened = fs::create_dir_all(&folder).and_then(|()| options.open(&path));
        let (reporter, has_failed) = (Arc::clone(&self.reporter), Arc::clone(&self.has_failed));
        let errors = WriteErrorReporter { path, reporter, has_failed };
        match opened {
            Ok(file) => Some(Box::new(StreamFile { file, errors })),
            Err(error) => {
                errors.report(&error);
                None
            }
        }
    }
}

/// Reports that a file cannot be written.
struct WriteErrorReporter {
    path: PathBuf,
    reporter: Arc<ProgressReporter>,
    has_failed: Arc<AtomicBool>,
}

impl WriteErrorReporter {
    fn report(&self, error: &io::Error) {
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            let path = self.path.display();
            self.reporter.print(&format!("cannot write {path}, and perhaps other files: {error}"));
        }
    }
}

/// A file that receives a whole stream.
struct StreamFile {
    file: File,
    errors: WriteErrorReporter,
}

impl Write for StreamFile {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.file.write(part).inspect_err(|error| self.errors.report(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A longer line is shown in parts.
const LONGEST_LINE: usize = 8 * 1024;

/// Shows each line prefixed with the item's id.
struct Live {
    item: String,
    reporter: Arc<ProgressReporter>,
    line: Vec<u8>,
}

impl Live {
    fn show(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        self.reporter.print(&format!("{}: {}", self.item, line.trim_end_matches('\r')));
        self.line.clear();
    }
}

impl Write for Live {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        for &byte in part {
            if byte == b'\n' || self.line.len() >= LONGEST_LINE {
                self.show();
            }
            if byte != b'\n' {
                self.line.push(byte);
            }
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.show();
        }
    }
}

/// The longest file name, in bytes.
const LONGEST_NAME: usize = 200;

/// A file name that is unique to the item and safe: all bytes are written as in `%2F`, except for
/// letters, digits, spaces, `-`, `_`, and dots that are not at the start.
fn file_name(id: &str) -> String {
    let mut name = String::new();
    for (at, c) in id.char_indices() {
        let is_plain = c.is_alphanumeric() || "-_ ".contains(c) || (c == '.' && at > 0);
        if is_plain {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    if name.is_empty() {
        // No other id is encoded as this.
        return "%".to_owned();
    }
    if name.len() > LONGEST_NAME {
        let end = (0..=LONGEST_NAME - 20).rev().find(|&at| name.is_char_boundary(at));
        name.truncate(end.unwrap_or(0));
        let _ = write!(name, "%{:016x}", fnv1a(id));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_leads_nowhere_and_is_that_of_one_item() {
        assert_eq!(file_name("order-17"), "order-17");
        assert_eq!(file_name("../a/b%"), "%2E.%2Fa%2Fb%25");
        assert_eq!(file_name(".."), "%2E.");
        assert_eq!(file_name("a\0\n"), "a%00%0A");
        assert_eq!(file_name(""), "%");
        let (a, b) = (format!("{}a", "ü".repeat(300)), format!("{}b", "ü".repeat(300)));
        assert!(file_name(&a).len() <= LONGEST_NAME);
        assert_ne!(file_name(&a), file_name(&b));
    }
}
