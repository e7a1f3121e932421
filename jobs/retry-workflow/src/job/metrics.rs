//! Metrics of jobs through the `metrics` facade, for dashboards.
//!
//! | name | kind | labels | |
//! | --- | --- | --- | --- |
//! | `retry_job_running` | gauge | `workflow`, `job_id` | 1 while this process works on the job, else 0 |
//! | `retry_job_items` | gauge | `workflow`, `job_id`, `state` | items of the job: `pending`, `leased`, `succeeded`, `dead`, `skipped` |
//! | `retry_job_handlers` | gauge | `workflow`, `job_id` | handlers that are running in this process |
//! | `retry_job_max_handlers` | gauge | `workflow`, `job_id` | handlers that may run at the same time in this process: `max_parallel`, or fewer while a service or the machine does not allow all of them |
//! | `retry_job_overdue_seconds` | gauge | `workflow`, `job_id` | how long an item has been due without any attempt having ended; 0 if none is due |
//! | `retry_job_rate_used_ratio` | gauge | `workflow`, `job_id`, `rate` | how much of a rate of the job is used up, from 0 to 1, such as `1000/h`; a rate at which starts are spread evenly has none |
//! | `retry_job_attempts_total` | counter | `workflow`, `job_id`, `state` | attempts that ended in this process, by the state that each left its item in: `succeeded`, `dead`, `skipped`, or `pending` if another one follows |
//! | `retry_job_step_seconds` | histogram | `workflow`, `job_id`, `step_name` | how long attempts took in this process, by step; `step_name` is empty for attempts as a whole |
//!
//! The gauges are set about once a second while this process works on the job. When it leaves the
//! job, `retry_job_items` keeps its value; the others are 0. All processes that work on a job
//! report the same items, so take the `max` of them, and the `sum` of handlers and attempts.
//!
//! A duration is recorded when its attempt ends, whether it failed or not; a step that succeeds
//! counts as well, although it has no row in the history. Of each job, the first 100 steps have
//! their own label; further ones are the step `other`. To aggregate durations over several
//! processes, configure buckets in the exporter, such as [`STEP_SECONDS`]: without them, some
//! exporters produce quantiles instead.
//!
//! The labels are `job_id` and `step_name` because Prometheus uses `job` for what it scrapes, and
//! `step` is a keyword of its queries. Each job adds 13 series and one for each of its rates, and
//! for each of its steps as many as there are buckets. For a process that runs one job after another, let the exporter drop idle
//! ones: `idle_timeout` of `PrometheusBuilder`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Key, Label, Level, Metadata, Unit, describe_counter, describe_gauge, describe_histogram,
    with_recorder,
};

use crate::item::clock::Timestamp;
use crate::item::lease::Settlement;
use crate::item::record::{Counts, ItemState};
use crate::job::rate::Rate;

const RUNNING: &str = "retry_job_running";
const ITEMS: &str = "retry_job_items";
const HANDLERS: &str = "retry_job_handlers";
const MAX_HANDLERS: &str = "retry_job_max_handlers";
const OVERDUE: &str = "retry_job_overdue_seconds";
const RATE_USED: &str = "retry_job_rate_used_ratio";
const ATTEMPTS: &str = "retry_job_attempts_total";
const STEP: &str = "retry_job_step_seconds";

/// The largest number of steps with a label of their own; further ones count as [`OTHER_STEPS`].
/// The names come from users, and might contain the id of an item.
const MAX_STEPS: usize = 100;

/// The step that stands for those beyond [`MAX_STEPS`].
const OTHER_STEPS: &str = "other";

/// A longer name of a step is cut to this many bytes.
const LONGEST_STEP: usize = 200;

/// Upper bounds of buckets for `retry_job_step_seconds`, in seconds: from a millisecond to a day.
///
/// With `metrics-exporter-prometheus`: `set_buckets_for_metric(Matcher::Full(
/// "retry_job_step_seconds".to_owned()), &STEP_SECONDS)`.
///
/// ```
/// use retry_workflow::job::metrics::STEP_SECONDS;
///
/// assert!(STEP_SECONDS.is_sorted());
/// ```
pub const STEP_SECONDS: [f64; 16] = [
    0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0,
    86_400.0,
];

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// Describes each metric to the recorder. Call it once, after the recorder is installed; without it
/// the metrics are the same, but have no help texts.
///
/// ```
/// retry_workflow::job::metrics::describe();
/// ```
pub fn describe() {
    describe_gauge!(RUNNING, "1 while this process works on a job");
    describe_gauge!(ITEMS, "Items of a job, by state");
    describe_gauge!(HANDLERS, "Handlers of a job that are running in this process");
    describe_gauge!(
        MAX_HANDLERS,
        "Handlers of a job that may run at the same time in this process"
    );
    describe_gauge!(
        OVERDUE,
        Unit::Seconds,
        "How long an item of a job has been due without any attempt having ended"
    );
    describe_gauge!(RATE_USED, "Share of a rate of a job that is used up");
    describe_counter!(ATTEMPTS, "Attempts at items of a job, by the state that follows");
    describe_histogram!(STEP, Unit::Seconds, "How long attempts at items of a job took, by step");
}

/// The metrics of one job while this process works on it.
pub(crate) struct JobMetrics {
    running: Key,
    handlers: Key,
    max_handlers: Key,
    overdue: Key,
    /// One key for each state.
    items: Vec<Key>,
    attempts: Vec<Key>,
    labels: [Label; 2],
    /// One key for each step.
    steps: BTreeMap<String, Key>,
    /// One key for each rate.
    rates: BTreeMap<String, Key>,
    /// The time at which the next item can be claimed, as last read from the store.
    next_due: Option<Timestamp>,
    /// The number of attempts that had ended when that number last changed, and the time of the
    /// change.
    ended: (u64, Timestamp),
}

impl JobMetrics {
    /// Sets the metrics when this process begins to work on a job.
    pub(crate) fn new(
        workflow: &str,
        job: &Arc<str>,
        (counts, max_handlers): (Counts, usize),
    ) -> Self {
        let labels =
            [Label::new("workflow", workflow.to_owned()), Label::new("job_id", Arc::clone(job))];
        let key = |name| Key::from_parts(name, labels.to_vec());
        let by_state = |name| {
            let states = ItemState::ALL.into_iter().map(|state| {
                let state = Label::from_static_parts("state", state.as_str());
                Key::from_parts(name, [&labels[..], &[state]].concat())
            });
            states.collect()
        };
        let mut metrics = Self {
            running: key(RUNNING),
            handlers: key(HANDLERS),
            max_handlers: key(MAX_HANDLERS),
            overdue: key(OVERDUE),
            items: by_state(ITEMS),
            attempts: by_state(ATTEMPTS),
            labels: labels.clone(),
            steps: BTreeMap::new(),
            rates: BTreeMap::new(),
            next_due: None,
            ended: (counts.attempts, Timestamp::default()),
        };
        set(&metrics.running, 1.0);
        metrics.progress(counts, (0, max_handlers), Timestamp::default());
        // Starts from zero, because Prometheus does not see a counter that begins with 1 as an
        // increase.
        for state in ItemState::ALL {
            if state != ItemState::Leased {
                metrics.count(state, 0);
            }
        }
        metrics
    }

    /// Records how long attempts took.
    pub(crate) fn took(&mut self, settlement: &Settlement) {
        for (step, took) in settlement.took() {
            let key = self.step(label_of(step));
            with_recorder(|recorder| recorder.register_histogram(key, &METADATA)).record(took);
        }
    }

    fn step(&mut self, step: &str) -> &Key {
        let is_full = self.steps.len() >= MAX_STEPS && !step.is_empty();
        let step = if is_full && !self.steps.contains_key(step) { OTHER_STEPS } else { step };
        if !self.steps.contains_key(step) {
            let label = Label::new("step_name", step.to_owned());
            let key = Key::from_parts(STEP, [&self.labels[..], &[label]].concat());
            self.steps.insert(step.to_owned(), key);
        }
        &self.steps[step]
    }

    /// Sets how much of a rate is used up.
    pub(crate) fn rate_used(&mut self, (rate, used): (Rate, u64)) {
        let labels = &self.labels;
        let key = self.rates.entry(rate.to_string()).or_insert_with_key(|rate| {
            let label = Label::new("rate", rate.clone());
            Key::from_parts(RATE_USED, [&labels[..], &[label]].concat())
        });
        set(key, number(used) / number(rate.limit()));
    }

    pub(crate) fn count(&self, state: ItemState, more: u64) {
        let key = &self.attempts[state as usize];
        with_recorder(|recorder| recorder.register_counter(key, &METADATA)).increment(more);
    }

    /// Records what the store says about when the next item can be claimed.
    pub(crate) fn next_due(&mut self, due: Option<Timestamp>) {
        self.next_due = due;
    }

    pub(crate) fn progress(
        &mut self,
        counts: Counts,
        (handlers, max_handlers): (usize, usize),
        now: Timestamp,
    ) {
        let Counts { pending, leased, succeeded, dead, skipped, .. } = counts;
        for (key, items) in self.items.iter().zip([pending, leased, succeeded, dead, skipped]) {
            set(key, number(items));
        }
        set(&self.handlers, number(handlers as u64));
        set(&self.max_handlers, number(max_handlers as u64));
        if counts.attempts != self.ended.0 {
            self.ended = (counts.attempts, now);
        }
        // A backlog is due all the time; it is overdue once nothing comes of it.
        let overdue = self.next_due.map_or(Duration::ZERO, |due| now.since(due.max(self.ended.1)));
        set(&self.overdue, overdue.as_secs_f64());
    }
}

/// Resets the gauges, however the job ends while its process lives.
impl Drop for JobMetrics {
    fn drop(&mut self) {
        let gauges = [&self.running, &self.handlers, &self.max_handlers, &self.overdue];
        for key in gauges.into_iter().chain(self.rates.values()) {
            set(key, 0.0);
        }
    }
}

/// The label of a step: its name, which is not longer than 200 bytes, or nothing for an attempt as a
/// whole.
fn label_of(step: Option<&str>) -> &str {
    let step = step.unwrap_or_default();
    let end = (0..=LONGEST_STEP).rev().find(|&at| step.is_char_boundary(at)).unwrap_or(0);
    step.get(..end).unwrap_or(step)
}

#[expect(clippy::cast_precision_loss, reason = "a level is drawn, and exact below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

fn set(key: &Key, level: f64) {
    with_recorder(|recorder| recorder.register_gauge(key, &METADATA)).set(level);
}
