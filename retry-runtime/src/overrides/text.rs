//! Changes whose values are texts, as people write them: `2`, `true`, `500ms`, `linear(increment =
//! 2s)`.

use core::fmt;

use retry_rules::file::first_name;
use retry_rules::suggest::shortened;

use super::error::OverridesError;
use super::layer::{Checked, Layer};
use super::names::{self, Target};

/// One key of one function, as written.
pub(super) struct Written {
    pub(super) target: Target,
    pub(super) key: &'static str,
    pub(super) value: String,
    /// The environment variable, if it came from one.
    pub(super) variable: Option<String>,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variable {
            Some(variable) => write!(f, "`{variable}`"),
            None => write!(f, "`{}` of `{}`", self.key, self.target.name()),
        }
    }
}

/// Checks changes given as function name, key and value.
pub(super) fn changes<N, K, V>(
    changes: impl IntoIterator<Item = (N, K, V)>,
) -> Result<Checked, OverridesError>
where
    N: AsRef<str>,
    K: AsRef<str>,
    V: core::fmt::Display,
{
    let mut mistakes = Vec::new();
    let mut all = Vec::new();
    for (name, key, value) in changes {
        match (Target::by(name.as_ref()), names::key(key.as_ref())) {
            (Ok(target), Ok(key)) => {
                let value = value.to_string();
                all.push(Written { target, key, value, variable: None });
            }
            (target, key) => {
                let key = key.err().map(|why| format!("`{}`: {why}", shortened(name.as_ref())));
                mistakes.extend(target.err().into_iter().chain(key));
            }
        }
    }
    checked(&all, mistakes)
}

/// Checks the written changes, and reports any mistakes together with the given ones.
pub(super) fn checked(
    all: &[Written],
    mut mistakes: Vec<String>,
) -> Result<Checked, OverridesError> {
    let mut layer = Layer::default();
    let mut readable = Vec::<&Written>::new();
    let mut twice = Vec::new();
    for written in all {
        let Written { target, key, value, .. } = written;
        if let Err(why) = layer.entry(*target).set_text(key, value) {
            mistakes.push(format!("{written}: {why}"));
            continue;
        }
        let is_same =
            |other: &&&Written| other.target == *target && first_name(other.key) == first_name(key);
        if let Some(first) = readable.iter().find(is_same) {
            twice.push(format!("{first} and {written} set the same thing: keep one"));
        }
        readable.push(written);
    }
    mistakes.append(&mut twice);
    if !mistakes.is_empty() {
        return Err(OverridesError::of(mistakes));
    }
    Checked::of(vec![layer]).map_err(|unsuitable| OverridesError::of_functions(&unsuitable))
}
