//! Re-drives and purges dead letters: counts them first, then acts.

use std::collections::BTreeMap;

use retry_workflow::words::count;
use retry_workflow::{DeadLetters, Filter, Job, Operator, Rate, Redrive, Store};
use serde::Deserialize;
use serde_json::{Value, json};

use super::once::Done;
use super::{ActionForm, Field, Proof};
use crate::data::letters::FilterFields;
use crate::data::search::Search;
use crate::parts::text::how_to_resume;
use crate::request::problem::Problem;

/// The dead letters to act on, and the action's options.
#[derive(Clone, Debug, Default, Deserialize, Hash)]
#[serde(default)]
pub(crate) struct LettersForm {
    #[serde(flatten)]
    pub(crate) filter: FilterFields,
    #[serde(flatten)]
    pub(crate) proof: Proof,
    /// For a re-drive: `10/s`.
    pub(crate) rate: Field,
    /// For a re-drive: the largest number of dead letters.
    pub(crate) max: Field,
    /// Only count them.
    pub(crate) dry_run: Field,
    /// Confirms that every dead letter of the store is meant, if the filter is empty.
    pub(crate) all: Field,
    /// For a purge: `purge 12`.
    pub(crate) confirm: Field,
    /// Unknown fields. A misspelt condition must not select everything.
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// The number of items that are read at a time.
const PAGE: usize = 500;
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
    let search = Search::new(text);
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = letters.list(&filter, after, PAGE).await?;
        ids.extend(page.items.into_iter().filter(|item| search.finds(item)).map(|item| item.id));
        after = page.next;
        if ids.len() > MOST_IDS {
            return Err(Problem::bad(format!(
                "More than {MOST_IDS} items match: choose a signature or a class instead of a text."
            )));
        }
        if after.is_none() {
            filter.ids = Some(ids);
            return Ok(filter);
        }
    }
}

impl ActionForm for LettersForm {
    fn proof(&self) -> &Proof {
        &self.proof
    }
}

impl LettersForm {
    pub(crate) fn cleaned(mut self) -> Self {
        self.filter = self.filter.cleaned();
        self
    }

    /// Requires a condition, or an explicit "all", and nothing that is not understood.
    fn check_selection(&self) -> Result<(), Problem> {
        if let Some(name) = self.unknown.keys().next() {
            return Err(Problem::bad(format!(
                "There is no field \"{name}\": dead letters are selected with job, item, items, \
                 class, signature, since, until, text and state."
            )));
        }
        if self.filter.is_empty() && !self.all.is_true() {
            return Err(Problem::bad(
                "Which dead letters are meant? Name a job, a class, a signature or a time, or send \
                 all=true.",
            ));
        }
        Ok(())
    }

    fn options(&self) -> Result<(Option<Rate>, Option<u64>), Problem> {
        let rate = self.rate.text().map(str::parse::<Rate>).transpose();
        let rate = rate.map_err(|error| Problem::bad(error.to_string()))?;
        let max = self.max.text().map(str::parse::<u64>).transpose();
        let max = max.map_err(|_| {
            let max = self.max.text().unwrap_or_default();
            Problem::bad(format!("\"{max}\" is not a number of items: write one such as 100"))
        })?;
        Ok((rate, max))
    }

    /// Re-drives the dead letters, or only counts them.
    pub(crate) async fn redrive(
        &self,
        operator: &Operator,
        command: &str,
    ) -> Result<Done, Problem> {
        let letters = operator.letters();
        self.check_selection()?;
        let (rate, max) = self.options()?;
        let filter = select(letters, &self.filter).await?;
        let redrive = Redrive::within(max, rate);
        if self.dry_run.is_true() {
            let preview = letters.preview(&[filter], redrive).await?;
            let data = json!({ "dry_run": true, "retried": preview.items() });
            return Ok(Done::new(preview.to_string(), data));
        }
        let at = rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
        let taken = operator.redrive(&[filter], redrive).await?;
        let next = if taken == 0 { None } else { Some(self.next(letters.store(), command).await?) };
        let said = format!(
            "{} re-driven{at}{}",
            count(taken, "dead letter"),
            next.map_or_else(String::new, |next| format!(". {next}"))
        );
        Ok(Done::new(said, json!({ "dry_run": false, "retried": taken })))
    }

    /// Says which worker picks up re-driven items, or how to start one.
    async fn next(&self, store: &dyn Store, command: &str) -> Result<String, Problem> {
        let job = match &self.filter.job {
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
    pub(crate) async fn purge(&self, operator: &Operator) -> Result<Done, Problem> {
        let letters = operator.letters();
        self.check_selection()?;
        let filter = select(letters, &self.filter).await?;
        let meant = letters.count(&filter).await?;
        let would_purge = count(meant, "dead letter");
        if self.dry_run.is_true() {
            let said = format!("{would_purge} would be purged");
            return Ok(Done::new(said, json!({ "dry_run": true, "purged": meant })));
        }
        let wanted = confirmation(meant);
        if self.confirm.text() != Some(&wanted) {
            return Err(Problem::changed(format!(
                "Nothing was purged. {would_purge} would be purged for good: type \"{wanted}\" to \
                 confirm."
            )));
        }
        let purged = operator.purge(&filter).await?;
        let said = format!("{} purged", count(purged, "dead letter"));
        Ok(Done::new(said, json!({ "dry_run": false, "purged": purged })))
    }
}

/// Returns the text that has to be typed to purge this many dead letters.
pub(crate) fn confirmation(count: u64) -> String {
    format!("purge {count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command keeps all digits of numbers (`arbitrary_precision` of `serde_json`), which reach
    /// flattened fields as maps.
    #[test]
    fn numbers_of_a_request_are_read_with_and_without_all_digits() {
        for text in ["7", "1.10", "1180591620717411303424"] {
            let form = format!(r#"{{"job":"j","max":{text},"other":{text}}}"#);
            let form: LettersForm = serde_json::from_str(&form).unwrap();
            let number = |field: &Field| field.text().unwrap().parse::<f64>().unwrap().to_bits();
            let expected = text.parse::<f64>().unwrap().to_bits();
            assert_eq!(number(&form.max), expected, "{text}");
            assert_eq!(form.unknown["other"].as_f64().map(f64::to_bits), Some(expected));
        }
        assert!(serde_json::from_str::<LettersForm>(r#"{"max":{"a":1}}"#).is_err());
    }
}
