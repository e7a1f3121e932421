//! [`Notices`]: what the user should know about this machine and its commands, once.

use std::sync::{Arc, Mutex, PoisonError};

/// Passes on the first notice of each kind; those that follow it say the same about other commands.
#[derive(Clone, Default)]
pub(crate) struct Notices {
    print: Option<Arc<Print>>,
    printed: Arc<Mutex<Vec<&'static str>>>,
}

type Print = dyn Fn(&str) + Send + Sync;

impl Notices {
    pub(crate) fn new(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { print: Some(Arc::new(print)), printed: Arc::default() }
    }

    pub(crate) fn add(&self, kind: &'static str, notice: &str) {
        let Some(print) = &self.print else { return };
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if !printed.contains(&kind) {
            printed.push(kind);
            print(notice);
        }
    }
}

retry_rules::partial_debug!(Notices);
