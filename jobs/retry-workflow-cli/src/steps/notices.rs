//! [`Notices`]: what the user should know about this machine, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes on the first notice; those that follow it say the same about other commands.
#[derive(Clone, Default)]
pub(crate) struct Notices {
    print: Option<Arc<Print>>,
    has_printed: Arc<AtomicBool>,
}

type Print = dyn Fn(&str) + Send + Sync;

impl Notices {
    pub(crate) fn new(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { print: Some(Arc::new(print)), has_printed: Arc::default() }
    }

    pub(crate) fn add(&self, notice: &str) {
        if let Some(print) = &self.print
            && !self.has_printed.swap(true, Ordering::Relaxed)
        {
            print(notice);
        }
    }
}

retry_rules::partial_debug!(Notices);
