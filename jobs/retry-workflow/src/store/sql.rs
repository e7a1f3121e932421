//! The columns that stores in SQL read, and the values that they stand for, the same in each store.
//!
//! The columns that readers need of a table are one list, and one function reads them in the same
//! order. In statements, `@` stands before the name of a table.

use std::time::Duration;

use super::codes;
use crate::item::clock::Timestamp;
pub use crate::item::clock::micros;
use crate::item::failure::Failure;
use crate::item::lease::{Lease, LeaseKey};
use crate::item::record::{
    AttemptOutcome, AttemptRecord, Counts, Cursor, Filter, ItemRecord, ItemState,
};

/// A row that a statement has selected.
pub trait SqlRow {
    /// The error of the client library.
    type Error;

    /// Returns the number in a column; `None` for `NULL`.
    fn integer(&self, column: usize) -> Result<Option<i64>, Self::Error>;

    /// Returns the text in a column; `None` for `NULL`.
    fn text(&self, column: usize) -> Result<Option<String>, Self::Error>;

    /// Creates the error for a value that no store writes into this column.
    fn invalid(&self, column: usize, problem: String) -> Self::Error;
}

/// Reads the columns of a row one after another.
#[derive(Debug)]
pub struct Columns<R> {
    row: R,
    next: usize,
}

impl<R: SqlRow> Columns<R> {
    /// Begins with the first column of a row.
    pub const fn new(row: R) -> Self {
        Self { row, next: 0 }
    }

    /// Begins after one of these lists of columns.
    pub fn after(row: R, columns: &str) -> Self {
        Self { row, next: columns.split(", ").count() }
    }

    fn advance(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// Returns the value of the last column that was read, which is not `NULL` in a store's own rows.
    pub fn required<T>(&self, value: Option<T>) -> Result<T, R::Error> {
        value.ok_or_else(|| self.invalid("NULL".to_owned()))
    }

    fn invalid(&self, problem: String) -> R::Error {
        self.row.invalid(self.next - 1, problem)
    }

    /// Reads a number, or `NULL`.
    pub fn integer_opt(&mut self) -> Result<Option<i64>, R::Error> {
        let column = self.advance();
        self.row.integer(column)
    }

    /// Reads a number.
    pub fn integer(&mut self) -> Result<i64, R::Error> {
        let value = self.integer_opt()?;
        self.required(value)
    }

    /// Reads a number of this type.
    pub fn number<T: TryFrom<i64>>(&mut self) -> Result<T, R::Error> {
        let value = self.integer()?;
        T::try_from(value).map_err(|_| self.invalid(format!("{value} is out of range")))
    }

    /// Reads a text, or `NULL`.
    pub fn text_opt(&mut self) -> Result<Option<String>, R::Error> {
        let column = self.advance();
        self.row.text(column)
    }

    /// Reads a text.
    pub fn text(&mut self) -> Result<String, R::Error> {
        let value = self.text_opt()?;
        self.required(value)
    }

    /// Reads a time, or `NULL`.
    pub fn time_opt(&mut self) -> Result<Option<Timestamp>, R::Error> {
        Ok(self.integer_opt()?.map(Timestamp::from_micros))
    }

    /// Reads a time.
    pub fn time(&mut self) -> Result<Timestamp, R::Error> {
        self.integer().map(Timestamp::from_micros)
    }

    /// Reads a count. One below zero, which a check of the store reports, counts as zero.
    pub fn count(&mut self) -> Result<u64, R::Error> {
        self.integer().map(|count| u64::try_from(count).unwrap_or(0))
    }

    /// Reads a duration.
    pub fn duration(&mut self) -> Result<Duration, R::Error> {
        self.count().map(Duration::from_micros)
    }

    /// Reads a failure, or `NULL`.
    pub fn failure(&mut self) -> Result<Option<Failure>, R::Error> {
        let Some(json) = self.text_opt()? else { return Ok(None) };
        serde_json::from_str(&json).map(Some).map_err(|error| self.invalid(error.to_string()))
    }

    /// Reads the state of an item.
    pub fn state(&mut self) -> Result<ItemState, R::Error> {
        let code = self.integer()?;
        let state = i16::try_from(code).ok().and_then(codes::state);
        state.ok_or_else(|| self.invalid(unknown("state", code)))
    }

    /// Reads the outcome of an attempt, or `NULL`.
    pub fn outcome(&mut self) -> Result<Option<AttemptOutcome>, R::Error> {
        let Some(code) = self.integer_opt()? else { return Ok(None) };
        let outcome = i16::try_from(code).ok().and_then(codes::outcome);
        outcome.map(Some).ok_or_else(|| self.invalid(unknown("outcome", code)))
    }
}

fn unknown(what: &str, code: i64) -> String {
    format!("an item has the {what} {code}, which this program does not know")
}

/// The columns of an item without its history: of its state `s`, its item `i` and its failure `f`.
pub const ITEM: &str = "s.item, (SELECT name FROM @jobs j WHERE j.job = s.job), i.id, i.payload, \
     i.correlation, s.claim_rank, s.state, s.run, s.attempt, s.due, s.checkpoint, s.ended, s.output, \
     f.failure";

/// Reads [`ITEM`], with the number of the item.
pub fn item<R: SqlRow>(columns: &mut Columns<R>) -> Result<(Cursor, ItemRecord), R::Error> {
    let number = Cursor(columns.integer()?);
    let (job, id, payload) = (columns.text()?, columns.text()?, columns.text()?);
    let correlation = columns.text_opt()?.unwrap_or_else(|| format!("{job}/{id}"));
    let record = ItemRecord {
        job,
        id,
        payload,
        correlation,
        priority: codes::priority(columns.number()?),
        state: columns.state()?,
        run: columns.number()?,
        attempt: columns.number()?,
        due: columns.time_opt()?,
        checkpoint: columns.text_opt()?,
        ended: columns.time_opt()?,
        output: columns.text_opt()?,
        failure: columns.failure()?,
        history: Vec::new(),
    };
    Ok((number, record))
}

/// Returns the size of an item in a list: its texts, in bytes.
pub fn size(item: &ItemRecord) -> usize {
    let texts = [Some(&item.payload), item.output.as_ref(), item.checkpoint.as_ref()];
    texts.into_iter().flatten().map(String::len).sum()
}

/// The columns of a row `h` of the history, made by the worker `w`.
pub const ATTEMPT: &str = "h.outcome, h.run, h.attempt, h.started, h.duration, h.wait, w.name, \
     h.step, h.failure, h.output";

/// Reads [`ATTEMPT`]; `None` if the row does not exist.
pub fn attempt<R: SqlRow>(columns: &mut Columns<R>) -> Result<Option<AttemptRecord>, R::Error> {
    let Some(outcome) = columns.outcome()? else { return Ok(None) };
    Ok(Some(AttemptRecord {
        run: columns.number()?,
        attempt: columns.number()?,
        started: columns.time()?,
        duration: columns.duration()?,
        wait: columns.duration()?,
        worker: columns.text()?.into(),
        step: columns.text_opt()?,
        outcome,
        failure: columns.failure()?,
        output: columns.text_opt()?,
    }))
}

/// Reads a lease: `item`, `token`, `run`, `attempt`, `lost`, `dropped`, `checkpoint`, `id`,
/// `correlation`, `payload`.
pub fn lease<R: SqlRow>(columns: &mut Columns<R>) -> Result<Lease, R::Error> {
    let key = LeaseKey { item: columns.integer()?, token: columns.number()? };
    Ok(Lease {
        key,
        run: columns.number()?,
        attempt: columns.number()?,
        lost: columns.number()?,
        dropped: columns.number()?,
        checkpoint: columns.text_opt()?,
        id: columns.text()?,
        correlation: columns.text_opt()?,
        payload: columns.text()?,
    })
}

/// The columns that count the items of a job: by state, in the order of [`ItemState::ALL`], and the
/// attempts.
pub const COUNTS: [&str; 9] =
    ["pending", "leased", "succeeded", "dead", "skipped", "attempts", "lost", "worked", "waited"];

/// Reads [`COUNTS`].
pub fn counts<R: SqlRow>(columns: &mut Columns<R>) -> Result<Counts, R::Error> {
    Ok(Counts {
        pending: columns.count()?,
        leased: columns.count()?,
        succeeded: columns.count()?,
        dead: columns.count()?,
        skipped: columns.count()?,
        attempts: columns.count()?,
        lost: columns.count()?,
        worked: columns.duration()?,
        waited: columns.duration()?,
    })
}

/// Returns the values of [`COUNTS`].
pub fn values_of_counts(counts: &Counts) -> [i64; 9] {
    let Counts { pending, leased, succeeded, dead, skipped, attempts, lost, .. } = *counts;
    let [pending, leased, succeeded, dead, skipped, attempts, lost] =
        [pending, leased, succeeded, dead, skipped, attempts, lost].map(signed);
    let (worked, waited) = (micros(counts.worked), micros(counts.waited));
    [pending, leased, succeeded, dead, skipped, attempts, lost, worked, waited]
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the number of rows to which a statement is limited.
pub fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

/// Writes each column in this form, with commas between them.
pub fn each(columns: &[&str], form: impl Fn(&str) -> String) -> String {
    columns.iter().map(|column| form(column)).collect::<Vec<_>>().join(", ")
}

/// Returns the failures `f` in the states of a filter, of all jobs or of the job in a parameter: all
/// of them, or the newest, up to a limit in a parameter. States are joined with their failures by
/// `join`.
pub fn failures(
    filter: &Filter,
    join: &str,
    (job, newest): (Option<String>, Option<String>),
    states: &str,
) -> String {
    let Some(newest) = newest else {
        let of_job = job.map(|job| format!("f.job = {job} AND ")).unwrap_or_default();
        return format!("@failures f WHERE {of_job}{states}");
    };
    let (_, predicate) = index_of_failed(filter);
    let (failures, order) = match job {
        Some(job) => (
            format!(
                "@states s {join} @failures f ON f.item = s.item \
                 WHERE s.job >= {job} AND s.job <= {job} AND s.{predicate}"
            ),
            "s.job DESC, s.item DESC",
        ),
        None => (format!("@failures f WHERE f.{predicate}"), "f.item DESC"),
    };
    format!(
        "(SELECT f.item, f.class, f.signature, f.ended FROM {failures} AND {states} \
         ORDER BY {order} LIMIT {newest}) f WHERE true"
    )
}

/// Returns the partial index of the items with a failure that a filter selects.
pub fn index_of_failed(filter: &Filter) -> codes::PartialIndex {
    codes::partial_index(&codes::codes(filter)).unwrap_or(codes::FAILED_INDEX)
}

/// Returns the SQL of [`Timestamp::hour`]. No hour begins before the earliest time.
pub fn hour(time: &str) -> String {
    const HOUR: i64 = 3_600_000_000;
    let earliest = i64::MIN + HOUR;
    let time = format!("(CASE WHEN {time} < {earliest} THEN {earliest} ELSE {time} END)");
    format!("({time} - ({time} % {HOUR} + {HOUR}) % {HOUR})")
}

/// Returns the condition that a class is the one in a parameter, or contains it. `position` is the
/// function that finds a text in another one.
pub fn of_class(position: &str, column: &str, parameter: &str, class: &str) -> String {
    if class.contains('+') {
        format!("{column} = {parameter}")
    } else {
        format!("{position}('+' || {column} || '+', '+' || {parameter} || '+') > 0")
    }
}
