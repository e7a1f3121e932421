//! [`Recorders`]: records the progress of a job, as requested with `--joblog` and `--events`.

mod event_lines;
mod joblog;

use self::event_lines::EventLines;
use self::joblog::Joblog;
use std::sync::atomic::{AtomicBool, Ordering};

use super::arguments::RunArguments;
use super::outcome::CommandError;
use retry_workflow::JobEvent;

#[derive(Debug, Default)]
pub(super) struct Recorders {
    joblog: Option<Joblog>,
    /// A write failure is reported once.
    has_failed: AtomicBool,
    events: Option<EventLines>,
}

impl Recorders {
    /// Opens everything that will be written to, before anything starts.
    pub(super) fn open(how: &RunArguments) -> Result<Self, CommandError> {
        let joblog = how.joblog.as_deref().map(Joblog::open).transpose()?;
        if let Some(folder) = &how.results {
            std::fs::create_dir_all(folder).map_err(|error| {
                let folder = folder.display();
                CommandError::Usage(format!("cannot write results to {folder}: {error}"))
            })?;
        }
        Ok(Self { joblog, events: how.events.then(EventLines::default), ..Self::default() })
    }

    /// Returns whether the report is written as an event as well.
    pub(super) fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// Records an event; write failures are passed to `notify`.
    pub(super) fn on_event(&self, event: &JobEvent<'_>, notify: impl Fn(&str)) {
        if let (Some(joblog), JobEvent::Attempt { job, item, attempt, .. }) = (&self.joblog, event)
            && let Err(error) = joblog.add(job, item, attempt)
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            notify(&format!(
                "an attempt of {item}, and perhaps others, could not be added to the joblog: {error}"
            ));
        }
        if let Some(events) = &self.events {
            events.on_event(event);
        }
    }
}
