//! Changes policies at runtime: on top of the program's own overrides, and with the same rules.

use parking_lot::Mutex;
use retry_runtime::{Overrides, OverridesError};
use serde::Deserialize;
use serde_json::json;

use super::once::Done;
use super::{Field, Proof};
use crate::data::policies::Change;
use crate::request::problem::Problem;

/// A key of a function's policy, and its new value.
#[derive(Clone, Debug, Default, Deserialize, Hash)]
#[serde(default)]
pub(crate) struct OverrideForm {
    /// The function, or `*` for all functions.
    pub(crate) name: Field,
    pub(crate) key: Field,
    /// As in `RETRY_…` variables: `2`, `500ms`, `linear(increment = 2s)`.
    pub(crate) value: Field,
    #[serde(flatten)]
    pub(crate) proof: Proof,
}

impl OverrideForm {
    /// The function, the key and the value; empty if they are missing.
    pub(crate) fn texts(&self) -> [&str; 3] {
        [&self.name, &self.key, &self.value].map(|field| field.text().unwrap_or_default())
    }
}

/// The changes made on the board.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Changed>);

#[derive(Debug, Default)]
struct Changed {
    /// The program's own overrides, below the board's.
    below: Overrides,
    /// The overrides in force, if the board was the last to change them.
    own: Option<Overrides>,
    pairs: Vec<Change>,
}

impl Changed {
    /// Applies these pairs on top of the program's own overrides.
    fn apply(&mut self, pairs: Vec<Change>) -> Result<(), OverridesError> {
        let in_force = Overrides::in_force();
        if self.own.as_ref() != Some(&in_force) {
            // The program has changed its overrides since; use them as the new base.
            self.below = in_force;
        }
        let each = pairs.iter().map(|Change { name, key, value }| (name, key, value));
        let all = self.below.merge(&Overrides::from_pairs(each)?)?;
        all.apply();
        self.own = Some(all);
        self.pairs = pairs;
        Ok(())
    }
}

impl Changes {
    /// Returns the changes made on the board: function, key and value.
    pub(crate) fn pairs(&self) -> Vec<Change> {
        self.0.lock().pairs.clone()
    }

    /// Sets a key; the error is worded by the rule that rejects the value.
    pub(crate) fn set(&self, form: &OverrideForm) -> Result<Done, OverridesError> {
        let [name, key, value] = form.texts().map(str::to_owned);
        let mut changed = self.0.lock();
        let mut pairs = changed.pairs.clone();
        pairs.retain(|other| (&other.name, &other.key) != (&name, &key));
        let said = format!("{name}: {key} is {value} from the next failure on");
        let change = Change { name, key, value };
        pairs.push(change.clone());
        changed.apply(pairs)?;
        Ok(Done::new(said, json!(change)))
    }

    /// Reverts the changes to one function, or all changes.
    pub(crate) fn reset(&self, form: &OverrideForm) -> Result<Done, Problem> {
        let mut changed = self.0.lock();
        let mut pairs = changed.pairs.clone();
        let before = pairs.len();
        match form.name.text() {
            Some(name) => pairs.retain(|other| other.name != name),
            None => pairs.clear(),
        }
        let taken = before - pairs.len();
        changed.apply(pairs).map_err(|error| Problem::bad(error.to_string()))?;
        let said = match form.name.text() {
            Some(name) => format!("The overrides set here for {name} are removed"),
            None => "All overrides set here are removed".to_owned(),
        };
        Ok(Done::new(said, json!({ "taken_back": taken })))
    }
}
