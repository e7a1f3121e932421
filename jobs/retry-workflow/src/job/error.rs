//! [`WorkflowError`]: why a job cannot run, or cannot continue.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use retry_rules::suggest;
use retry_runtime::Invalid;

use crate::item::sanitize::OneLine;
use crate::job::dependencies::InvalidGraph;
use crate::job::error_policy::InvalidErrorPolicy;
use crate::job::moment::InvalidMoment;
use crate::job::name::InvalidName;
use crate::job::rate::InvalidRate;
use crate::store::StoreError;

/// The reason why a job cannot run, or cannot continue. A failed item is not an error: it is in the
/// [`JobReport`](crate::JobReport).
///
/// ```
/// # use retry_workflow::{Workflow, WorkflowError};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let error = Workflow::new("import")
///     .max_parallel(0)
///     .run([1], |_: u32, _| async { Ok::<_, String>(()) })
///     .await
///     .unwrap_err();
/// assert!(matches!(error, WorkflowError::NoParallelism));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WorkflowError {
    /// The store failed.
    Store(StoreError),
    /// The policy for single calls breaks a rule.
    Policy(Invalid),
    /// The error policy is not valid.
    ErrorPolicy(InvalidErrorPolicy),
    /// The text of a `rate` or a `rate_per` is not a rate.
    Rate(InvalidRate),
    /// The text of a `not_before` or a `skip_after` is not a moment.
    Moment(InvalidMoment),
    /// The policy has a `deadline`, which can only limit a call within one process.
    Deadline,
    /// The policy has a `hedge`, and an item is worked on once at a time.
    Hedge,
    /// The error policy names a handler that does not exist.
    UnknownHandler {
        /// The name.
        name: String,
        /// The existing ones.
        known: Vec<String>,
    },
    /// The store has no job with this id.
    UnknownJob {
        /// The id.
        id: String,
        /// The existing ones, the latest first.
        known: Vec<String>,
    },
    /// The job with this id belongs to another workflow.
    OtherWorkflow {
        /// The id.
        id: String,
        /// The workflow that should run.
        name: String,
        /// The workflow that began the job.
        found: String,
    },
    /// The name of the job, or the id given to it, is not valid.
    Name {
        /// The name.
        name: String,
        /// The mistake in it.
        source: InvalidName,
    },
    /// `max_parallel`, or a limit of `concurrency_per`, is 0, so that no item could run.
    NoParallelism,
    /// The job has no store, and without the feature `sqlite`, there is none in memory.
    NoStore,
    /// A lease would expire before it can be renewed.
    ShortLease {
        /// The duration that it would have.
        lease: Duration,
    },
    /// The source of the items failed.
    Input(Arc<dyn Error + Send + Sync>),
    /// An item cannot be serialised as JSON.
    Item {
        /// Its id.
        item: String,
        /// The reason.
        source: Arc<serde_json::Error>,
    },
    /// Two items have the same id, and different payloads. Returned for [`keyed`](crate::keyed) items
    /// and sources with an [`id_rule`](crate::Source::id_rule).
    SameId {
        /// The id.
        item: String,
    },
    /// The items of an unfinished job have their ids by another rule.
    OtherIds {
        /// The job.
        job: String,
        /// The rule of the job.
        before: String,
        /// The rule of the source.
        now: String,
    },
    /// The tasks do not form a valid graph.
    Graph(InvalidGraph),
}

impl WorkflowError {
    /// Wraps an error of a [`Source`](crate::Source).
    pub fn input(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Input(error.into().into())
    }
}

impl fmt::Display for WorkflowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Policy(invalid) => write!(f, "the retry policy is not valid: {invalid}"),
            Self::ErrorPolicy(invalid) => invalid.fmt(f),
            Self::Rate(invalid) => write!(f, "the rate of the job is not valid: {invalid}"),
            Self::Moment(invalid) => {
                write!(f, "`not_before` or `skip_after` is not valid: {invalid}")
            }
            Self::Deadline => f.write_str(
                "a `deadline` bounds a call in one process, but an item may wait in its store for \
                 days: use a `budget` or a `max_elapsed`, which still apply after a restart",
            ),
            Self::Hedge => f.write_str(
                "a `hedge` begins a second attempt while the first one runs, but an item is worked \
                 on once at a time: remove it from the policy, or hedge the call inside the \
                 handler, as in `#[retry(hedge = \"200ms\")]`",
            ),
            Self::UnknownHandler { name, known } if known.is_empty() => write!(
                f,
                "`on_item_failure` names the handler `{name}`, but there are no handlers: add it \
                 with `.handler(\"{name}\", …)`, or choose dlq, retry, skip or stop"
            ),
            Self::UnknownHandler { name, known } => write!(
                f,
                "`on_item_failure` names the handler `{name}`, but the only handlers are `{}`",
                known.join("`, `")
            ),
            Self::UnknownJob { id, known } => {
                write!(f, "this store has no job `{}`", OneLine(id))?;
                // The job of this number, with its name misspelt.
                let number = |id: &str| id.rsplit_once('-').map(|(_, number)| number.to_owned());
                let same =
                    known.iter().map(String::as_str).filter(|known| number(known) == number(id));
                if let Some(meant) = suggest::nearest(id, same) {
                    return write!(f, ": did you mean `{}`?", OneLine(meant));
                }
                // Without the jobs that belong to another one, such as `import-1/reduce-1`.
                let of_others = |id: &&String| id.contains('/');
                let known: Vec<_> = known.iter().filter(|id| !of_others(id)).collect();
                match known.split_first() {
                    None => f.write_str(": it has no jobs"),
                    Some((latest, rest)) => {
                        write!(f, ": its jobs are `{}`", OneLine(latest))?;
                        for id in rest.iter().take(4) {
                            write!(f, ", `{}`", OneLine(id))?;
                        }
                        if rest.len() > 4 {
                            write!(f, " and {} more", rest.len() - 4)?;
                        }
                        Ok(())
                    }
                }
            }
            Self::Name { name, source } => {
                write!(f, "`{}` is not a valid job name: {source}", OneLine(name))
            }
            Self::NoParallelism => f.write_str(
                "`max_parallel`, or a limit of `concurrency_per`, is 0, so no item would ever run: \
                     write at least 1",
            ),
            Self::NoStore => f.write_str(
                "the job has no store: add `.store(…)`, or the feature `sqlite` for one in memory",
            ),
            Self::OtherWorkflow { id, name, found } => write!(
                f,
                "the job `{}` was started by the workflow `{}`, but this one is `{}`: choose \
                 another `job_id`",
                OneLine(id),
                OneLine(found),
                OneLine(name)
            ),
            Self::ShortLease { lease } => write!(
                f,
                "a lease of {lease:?} ends before it can be renewed, so items would be handled \
                 twice: write at least 100ms, or keep the default of 30s"
            ),
            Self::Input(error) => write!(f, "cannot read the items of the job: {error}"),
            Self::Item { item, source } => {
                write!(f, "cannot write item `{}` as JSON: {source}", OneLine(item))
            }
            Self::SameId { item } => write!(
                f,
                "two different items have the id `{}`, and a job has one item of each id: use a key \
                 that differs between items",
                OneLine(item)
            ),
            Self::OtherIds { job, before, now } => write!(
                f,
                "the ids of items came from {} when the job `{}` began, and now come from {}, so that \
                 items would run twice: undo that change, or start a new job",
                OneLine(before),
                OneLine(job),
                OneLine(now)
            ),
            Self::Graph(invalid) => invalid.fmt(f),
        }
    }
}

impl Error for WorkflowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // These already display the inner error, so continue with its source.
            Self::Store(error) => error.source(),
            Self::ErrorPolicy(invalid) => invalid.source(),
            Self::Graph(invalid) => invalid.source(),
            Self::Policy(invalid) => invalid.source(),
            Self::Item { source, .. } => source.source(),
            Self::Input(error) => error.source(),
            _ => None,
        }
    }
}

retry_rules::conversion!(|error: StoreError| -> WorkflowError { Self::Store(error) });
retry_rules::conversion!(|invalid: InvalidGraph| -> WorkflowError { Self::Graph(invalid) });
