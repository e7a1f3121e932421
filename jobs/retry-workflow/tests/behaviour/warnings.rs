//! The warnings of the library.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Collects the warnings of the current thread.
struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "retry_workflow" && *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Text(String);

        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                writeln!(self.0, "{field}: {value:?}").unwrap();
            }
        }

        let mut text = Text(String::new());
        event.record(&mut text);
        WARNINGS.with_borrow_mut(|warnings| warnings.push(text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Collects the warnings of this thread from now on. Returns those that it has collected before.
pub(crate) fn collect() -> Vec<String> {
    static SUBSCRIBER: Once = Once::new();

    // One for the whole program, because call sites cache whether a subscriber is interested.
    SUBSCRIBER.call_once(|| {
        tracing::subscriber::set_global_default(Warnings).expect("no test sets another one");
    });
    WARNINGS.take()
}
