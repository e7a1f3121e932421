//! Changing policies while the program runs: on top of what the program itself has changed, and
//! by the same rules.

use std::sync::{Mutex, MutexGuard, PoisonError};

use retry_runtime::{Overrides, OverridesError};
use serde::Deserialize;
use serde_json::json;

use super::once::Done;
use super::{Field, Proof};
use crate::visit::problem::Problem;

/// A key of a function, and what it is to be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OverrideForm {
    /// The function, or `*` for all.
    pub(crate) name: Field,
    pub(crate) key: Field,
    /// As in `RETRY_…` variables: `2`, `500ms`, `linear(increment = 2s)`.
    pub(crate) value: Field,
    #[serde(flatten)]
    pub(crate) proof: Proof,
}

type Pairs = Vec<(String, String, String)>;

/// What was changed here.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Changed>);

#[derive(Debug, Default)]
struct Changed {
    /// What the program has in force below it.
    below: Overrides,
    /// What is in force, if this was the last to change it.
    own: Option<Overrides>,
    pairs: Pairs,
}

impl Changed {
    /// Puts these pairs on top of what the program itself has in force.
    fn apply(&mut self, pairs: Pairs) -> Result<(), OverridesError> {
        let in_force = Overrides::in_force();
        if self.own.as_ref() != Some(&in_force) {
            // The program has changed something itself since: that lies below from now on.
            self.below = in_force;
        }
        let each = pairs.iter().map(|(name, key, value)| (name, key, value));
        let all = self.below.merge(&Overrides::from_pairs(each)?)?;
        all.apply();
        self.own = Some(all);
        self.pairs = pairs;
        Ok(())
    }
}

impl Changes {
    /// What was changed here, by function, key and value.
    pub(crate) fn pairs(&self) -> Pairs {
        self.changed().pairs.clone()
    }

    /// Changes a key; the error is the rule's own sentence.
    pub(crate) fn set(&self, form: &OverrideForm) -> Result<Done, OverridesError> {
        let [name, key, value] = [&form.name, &form.key, &form.value]
            .map(|field| field.text().unwrap_or_default().to_owned());
        let mut changed = self.changed();
        let mut pairs = changed.pairs.clone();
        pairs.retain(|(other, same, _)| (other, same) != (&name, &key));
        pairs.push((name.clone(), key.clone(), value.clone()));
        changed.apply(pairs)?;
        Ok(Done::new(
            format!("{name}: {key} is {value} from the next failure on"),
            json!({ "name": name, "key": key, "value": value }),
        ))
    }

    /// Takes back what was changed here of a function, or of all.
    pub(crate) fn reset(&self, form: &OverrideForm) -> Result<Done, Problem> {
        let mut changed = self.changed();
        let mut pairs = changed.pairs.clone();
        let before = pairs.len();
        match form.name.text() {
            Some(name) => pairs.retain(|(other, ..)| other != name),
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

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
