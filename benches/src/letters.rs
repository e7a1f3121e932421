//! The dead letters of the parts `board` and `growth`.

use std::time::Duration;

use retry_workflow::store::{AttemptOutcome, AttemptRecord};
use retry_workflow::{Failure, ItemRecord, ItemState, Timestamp};

/// The schema of the store on a Postgres server.
pub(crate) const SCHEMA: &str = "retry_bench_board";

/// The number of different failures.
const SIGNATURES: u32 = 200;

/// The payload of an item.
pub(crate) fn payload(n: u32) -> String {
    format!(r#"{{"order":{n},"text":"{}"}}"#, "x".repeat(170))
}

/// A dead letter after two attempts; `kind` selects the failure.
pub(crate) fn letter(job: &str, n: u32, kind: u32, ended: Timestamp) -> ItemRecord {
    let failure = failure(kind % SIGNATURES, n);
    let mut item = ItemRecord::new(job, n.to_string(), payload(n));
    (item.state, item.attempt, item.ended) = (ItemState::Dead, 2, Some(ended));
    item.history = [1, 2].map(|attempt| attempted(attempt, ended, &failure)).into();
    item.failure = Some(failure);
    item
}

fn attempted(attempt: u32, ended: Timestamp, failure: &Failure) -> AttemptRecord {
    const TOOK: Duration = Duration::from_millis(120);
    let started = ended - TOOK * (5 - 2 * attempt);
    let mut row = AttemptRecord::new("worker", started, AttemptOutcome::Failed);
    (row.attempt, row.duration) = (attempt, TOOK);
    row.wait = if attempt == 1 { TOOK } else { Duration::ZERO };
    row.failure = Some(failure.clone());
    row
}

/// Uses letters after `f` in place of digits, because signatures replace numbers.
fn failure(signature: u32, n: u32) -> Failure {
    const CLASSES: [&str; 5] = ["network", "timeout", "server_error", "rate_limit", "other"];
    let letter = |at: u32| char::from_u32('g' as u32 + at).unwrap_or('g');
    let column: String = [letter(signature / 10 % 20), letter(signature % 10)].iter().collect();
    let class = CLASSES[signature as usize % CLASSES.len()];
    Failure::new(class, format!("order {n}: the warehouse has no column {column}, it says"))
}
