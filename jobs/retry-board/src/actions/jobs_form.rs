//! [`JobsForm`]: the fields of an action on jobs or dead letters.

use std::collections::BTreeMap;

use retry_workflow::Rate;
use serde::Deserialize;
use serde_json::Value;

use super::{Field, Proof};
use crate::data::letters::FilterFields;
use crate::request::problem::Problem;

/// The jobs or dead letters to act on, and the options of the action.
#[derive(Clone, Debug, Default, Deserialize, Hash)]
#[serde(default)]
pub(crate) struct JobsForm {
    #[serde(flatten)]
    pub(crate) filter: FilterFields,
    #[serde(flatten)]
    pub(crate) proof: Proof,
    /// For a re-drive: `10/s`.
    pub(crate) rate: Field,
    /// For a re-drive: the largest number of dead letters.
    pub(crate) max: Field,
    /// For a re-drive: whether finished steps do not run again.
    pub(crate) from_failed: Field,
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

impl JobsForm {
    /// The id of the job, which is empty if none is named.
    pub(crate) fn job(&self) -> &str {
        self.filter.job.as_deref().unwrap_or_default()
    }

    pub(crate) fn cleaned(mut self) -> Self {
        self.filter = self.filter.cleaned();
        self
    }

    /// Requires a condition, or an explicit "all", and nothing that is not understood.
    pub(crate) fn check_selection(&self) -> Result<(), Problem> {
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

    /// Requires that nothing is named but a job: a condition or `dry_run` would have no effect.
    pub(crate) fn check_job(&self) -> Result<(), Problem> {
        let conditions = FilterFields { job: None, ..self.filter.clone() };
        if conditions.is_empty() && self.has_no_options() {
            return Ok(());
        }
        Err(Problem::bad("An action on a job takes no field but job: it is for the whole job."))
    }

    /// Returns the job and the ids of the items that are named. Another condition, or `dry_run`,
    /// would have no effect.
    pub(crate) fn items(&self) -> Result<(String, Vec<String>), Problem> {
        let FilterFields { job, state, .. } = self.filter.clone();
        let named = FilterFields { item: None, items: None, ..self.filter.clone() };
        let is_plain = named == FilterFields { job, state, ..FilterFields::default() };
        match (&self.filter.job, self.filter.ids()?) {
            (Some(job), Some(ids)) if is_plain && self.has_no_options() => Ok((job.clone(), ids)),
            _ => Err(Problem::bad(
                "An action on items takes the fields job and item, or items, and no others.",
            )),
        }
    }

    fn has_no_options(&self) -> bool {
        let redrive = [&self.rate, &self.max, &self.from_failed];
        let mut options = redrive.into_iter().chain([&self.dry_run, &self.all, &self.confirm]);
        self.unknown.is_empty() && options.all(|option| option.text().is_none())
    }

    pub(crate) fn options(&self) -> Result<(Option<Rate>, Option<u64>), Problem> {
        let rate = self.rate.text().map(str::parse::<Rate>).transpose();
        let rate = rate.map_err(|error| Problem::bad(error.to_string()))?;
        let max = self.max.text().map(str::parse::<u64>).transpose();
        let max = max.map_err(|_| {
            let max = self.max.text().unwrap_or_default();
            Problem::bad(format!("\"{max}\" is not a number of items: write one such as 100"))
        })?;
        Ok((rate, max))
    }
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
            let form: JobsForm = serde_json::from_str(&form).unwrap();
            let number = |field: &Field| field.text().unwrap().parse::<f64>().unwrap().to_bits();
            let expected = text.parse::<f64>().unwrap().to_bits();
            assert_eq!(number(&form.max), expected, "{text}");
            assert_eq!(form.unknown["other"].as_f64().map(f64::to_bits), Some(expected));
        }
        assert!(serde_json::from_str::<JobsForm>(r#"{"max":{"a":1}}"#).is_err());
    }
}
