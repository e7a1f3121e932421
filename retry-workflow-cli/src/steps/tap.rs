//! [`Tap`]: who gets what commands write while they run: all of it, without secrets.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use crate::steps::mask::{Masking, Masks};
use retry_workflow::ItemContext;

/// Gets what the commands of items write.
pub(crate) trait Tap: fmt::Debug + Send + Sync {
    /// Where the stdout and the stderr of an attempt go; `is_begun` means that its commands have
    /// written before. What cannot be written is for this to tell.
    fn sinks(&self, attempt: &ItemContext, is_begun: bool) -> [Vec<Sink>; 2];
}

/// What is to be known to open them.
#[derive(Debug)]
pub(crate) struct Tapping {
    pub(crate) tap: Arc<dyn Tap>,
    pub(crate) attempt: ItemContext,
    pub(crate) is_begun: bool,
}

impl Tapping {
    pub(super) fn sinks(&self) -> [Vec<Sink>; 2] {
        self.tap.sinks(&self.attempt, self.is_begun)
    }
}

/// Where a stream goes to. It ends when this is dropped.
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
        // One that fails has reported it.
        self.sinks.retain_mut(|sink| sink.write_all(shown).is_ok());
    }
}

impl Drop for Tapped {
    fn drop(&mut self) {
        let rest = self.masking.finish();
        self.write(&rest);
    }
}
