//! [`Tap`]: receives all output of commands while they run, without secrets.

use std::fmt;
use std::io::Write;

use crate::steps::mask::{Masking, Masks};
use retry_workflow::ItemContext;

/// Receives the output of the commands of items.
pub(crate) trait Tap: fmt::Debug + Send + Sync {
    /// The sinks for the stdout and the stderr of an attempt; `is_begun` means that commands of the
    /// attempt have written before. Implementations report write errors themselves.
    fn sinks(&self, attempt: &ItemContext, is_begun: bool) -> [Vec<Sink>; 2];
}

/// The destination of a stream, which ends when this is dropped.
pub(crate) type Sink = Box<dyn Write + Send>;

/// A stream on its way to its sinks.
pub(super) struct Tapped {
    masking: Masking,
    sinks: Vec<Sink>,
}

impl Tapped {
    pub(super) fn new(masks: &Masks, sinks: Vec<Sink>) -> Self {
        Self { masking: Masking::new(masks), sinks }
    }

    pub(super) fn take(&mut self, part: &[u8]) {
        let shown = self.masking.take(part);
        self.write(&shown);
    }

    fn write(&mut self, shown: &[u8]) {
        // A sink that fails has reported its error.
        self.sinks.retain_mut(|sink| sink.write_all(shown).is_ok());
    }
}

impl Drop for Tapped {
    fn drop(&mut self) {
        let rest = self.masking.finish();
        self.write(&rest);
    }
}
