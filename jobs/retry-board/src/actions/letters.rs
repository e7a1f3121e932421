//! Re-drives and purges dead letters: counts them first, then acts.

use futures_util::FutureExt as _;
use maud::html;
use retry_workflow::words::count;
use retry_workflow::{DeadLetters, Filter, Job, Redrive, Search};
use serde_json::json;

use super::action::{Action, Confirmation, Request, Target};
use super::once::Done;
use crate::data::letters::FilterFields;
use crate::parts::text::how_to_resume;
use crate::request::problem::Problem;

pub(super) const REDRIVE: Action = Action {
    name: "re-drive",
    target: Target::Letters,
    summary: "Re-drives dead letters; also rate, max, from_failed, dry_run, all",
    label: "Re-drive",
    style: "primary",
    is_for: |page| page.job.counts.dead > 0,
    confirmation: Some(Confirmation {
        counted: "retried",
        effect: "will be re-driven: each starts a new run with all of its attempts and a fresh \
                 budget, and keeps its history.",
        fields: |number| {
            html! {
                div.field { label for="rate" { "Rate " span.muted { "(empty: all at once)" } } input #rate name="rate" placeholder="10/s" autocomplete="off"; }
                div.field { label for="max" { "At most " span.muted { "(empty: all)" } } input #max name="max" inputmode="numeric" placeholder=(number) autocomplete="off"; }
                div.field { label { input #from_failed type="checkbox" name="from_failed" value="true"; " From the failed step: finished steps do not run again" } }
            }
        },
    }),
    act: |request| request.redrive().boxed(),
};

pub(super) const PURGE: Action = Action {
    name: "purge",
    target: Target::Letters,
    summary: "Purges dead letters for good; confirm is `purge N`; also dry_run, all",
    label: "Purge",
    style: "danger",
    is_for: |_| false,
    confirmation: Some(Confirmation {
        counted: "purged",
        effect: "will be purged for good: their payloads, histories and failures are deleted. This \
                 cannot be undone.",
        fields: |number| {
            html! {
                div.field {
                    label for="confirm" { "Type " code { (confirmation(number)) } " to confirm" }
                    input #confirm name="confirm" required autocomplete="off";
                }
            }
        },
    }),
    act: |request| request.purge().boxed(),
};

/// The largest number of ids in a filter.
const MOST_IDS: usize = 100_000;

/// The filter for what is selected; a text search is resolved to ids.
pub(crate) async fn select(
    letters: &DeadLetters,
    fields: &FilterFields,
) -> Result<Filter, Problem> {
    let mut filter = fields.filter(letters).await?;
    let Some(text) = fields.text.as_deref() else { return Ok(filter) };
    if filter.job.is_none() {
        return Err(Problem::bad(
            "Text is searched for in the items of one job: choose a job, too.",
        ));
    }
    let search = Search::parse(text)?;
    filter.ids = Some(Search::ids(&[search], letters.store(), &filter, MOST_IDS).await?);
    Ok(filter)
}

impl Request {
    /// Re-drives the dead letters, or only counts them.
    async fn redrive(self) -> Result<Done, Problem> {
        let letters = self.operator.letters();
        self.form.check_selection()?;
        let (rate, max) = self.form.options()?;
        let filter = select(letters, &self.form.filter).await?;
        let from_failed = self.form.from_failed.is_true();
        let redrive = Redrive::within(max, rate).from_failed(from_failed);
        if self.form.dry_run.is_true() {
            let preview = letters.preview(&[filter], redrive).await?;
            let data = json!({ "dry_run": true, "retried": preview.items() });
            return Ok(Done::new(preview.to_string(), data));
        }
        let from = if from_failed { ", from the failed step" } else { "" };
        let at = rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
        let taken = self.operator.redrive(&[filter], redrive).await?;
        let next = if taken == 0 { None } else { Some(self.next().await?) };
        let said = format!(
            "{} re-driven{at}{from}{}",
            count(taken, "dead letter"),
            next.map_or_else(String::new, |next| format!(". {next}"))
        );
        Ok(Done::new(said, json!({ "dry_run": false, "retried": taken })))
    }

    /// Says which worker picks up items that are due now, or how to start one.
    pub(super) async fn next(&self) -> Result<String, Problem> {
        let (store, command) = (self.operator.letters().store(), &self.command);
        let job = match &self.form.filter.job {
            Some(job) => Job::find(store, job).await?,
            None => None,
        };
        Ok(match job {
            Some(job) if job.is_live(store.now()) => "A worker of the job picks them up".to_owned(),
            Some(job) => {
                format!(
                    "No process is working on the job; to resume: {}",
                    how_to_resume(command, &job)
                )
            }
            None => format!(
                "Workers of their jobs pick them up; to resume a job without one: {command} resume JOB"
            ),
        })
    }

    /// Purges the dead letters, provided that their number is still the one that was typed; or only
    /// counts them.
    async fn purge(self) -> Result<Done, Problem> {
        self.form.check_selection()?;
        let letters = self.operator.letters();
        let filter = select(letters, &self.form.filter).await?;
        let meant = letters.count(&filter).await?;
        let would_purge = count(meant, "dead letter");
        if self.form.dry_run.is_true() {
            let said = format!("{would_purge} would be purged");
            return Ok(Done::new(said, json!({ "dry_run": true, "purged": meant })));
        }
        let wanted = confirmation(meant);
        if self.form.confirm.text() != Some(&wanted) {
            return Err(Problem::changed(format!(
                "Nothing was purged. {would_purge} would be purged for good: type \"{wanted}\" to \
                 confirm."
            )));
        }
        let purged = self.operator.purge(&filter).await?;
        let said = format!("{} purged", count(purged, "dead letter"));
        Ok(Done::new(said, json!({ "dry_run": false, "purged": purged })))
    }
}

/// Returns the text that has to be typed to purge this many dead letters.
fn confirmation(count: u64) -> String {
    format!("purge {count}")
}
