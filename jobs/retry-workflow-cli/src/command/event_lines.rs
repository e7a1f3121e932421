//! [`EventLines`]: the events of a job on standard output, one JSON object per line.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::terminal::text::json as safe;
use retry_workflow::{JobEvent, Timestamp};

/// Writes the events of jobs that run one after another.
#[derive(Debug, Default)]
pub(super) struct EventLines {
    /// The job that is running.
    job: Mutex<String>,
    /// The reader has gone.
    is_closed: AtomicBool,
}

impl EventLines {
    pub(super) fn on_event(&self, event: &JobEvent<'_>) {
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        let mut job = self.job.lock();
        if let JobEvent::Started { job: started, .. } = event {
            (*started).clone_into(&mut job);
        }
        for mut object in objects(event) {
            object["time"] = json!(Timestamp::now());
            object["job"] = json!(*job);
            let line = format!("{}\n", safe(&object.to_string()));
            if io::stdout().write_all(line.as_bytes()).is_err() {
                self.is_closed.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Converts an event to JSON; durations become seconds.
fn objects(event: &JobEvent<'_>) -> Vec<Value> {
    match event {
        JobEvent::Failures(failures) => {
            let failed = failures.iter().map(|failed| {
                json!({
                    "event": "failure",
                    "item": failed.item,
                    "run": failed.run,
                    "attempt": failed.attempt,
                    "state": failed.state,
                    "failure": failed.failure,
                })
            });
            failed.collect()
        }
        JobEvent::Breaker(transition) => vec![json!({
            "event": "breaker",
            "from": transition.from.to_string(),
            "to": transition.to.to_string(),
            "cause": transition.cause.to_string(),
        })],
        event => vec![serde_json::to_value(event).unwrap_or_else(|error| {
            json!({ "event": "error", "message": format!("cannot write {event:?}: {error}") })
        })],
    }
}
