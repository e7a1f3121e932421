//! [`Misfit`]: a finished step that is no longer where it was, because its file was edited.

use std::fmt::{self, Write as _};

use crate::steps::command_env::excerpt;
use crate::steps::step::{CaptureEdit, Step, StepId};
use retry_workflow::sanitize::OneLine;

/// A step that is done, but is no longer at its place in its list.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Its place, from 0.
    pub(crate) at: usize,
    pub(crate) was: StepId,
    /// The command at its place now, if there is one.
    pub(crate) is: Option<String>,
    /// The edit of its `capture`.
    edit: Option<Box<CaptureEdit>>,
    /// The place of its list, if that belongs to another step: " of `on_success` of `pay`".
    place: String,
}

impl Misfit {
    pub(super) fn new(at: usize, was: StepId, is: Option<&Step>) -> Self {
        let is = is.map(|step| match step.id() {
            StepId::Name(name) => name,
            StepId::Text(_) => step.run.written(),
        });
        Self { at, was, is, edit: None, place: String::new() }
    }

    /// Adds the edit of its `capture`.
    pub(super) fn edited(self, edit: Option<Box<CaptureEdit>>) -> Self {
        Self { edit, ..self }
    }

    /// The same in a list under this key of an outer step.
    pub(super) fn inside(mut self, key: &str, outer: &Step) -> Self {
        let _infallible = write!(self.place, " of `{key}` of `{}`", OneLine(&outer.label));
        self
    }

    /// Describes the edit; `text` is what the step was, if that is known.
    pub(crate) fn described(&self, text: Option<&str>) -> String {
        let number = self.at + 1;
        let name = match &self.was {
            StepId::Name(name) => Some(name.as_str()),
            StepId::Text(_) => text,
        };
        let place = &self.place;
        let was = name.map_or_else(String::new, |name| format!(", `{}`", OneLine(&excerpt(name))));
        let was = format!("step {number}{place}{was}");
        let Some(is) = &self.is else { return format!("{was}, which no longer exists") };
        let is_same = name == Some(is.as_str());
        let is = format!("but step {number} is now `{}`", OneLine(&excerpt(is)));
        match &self.edit {
            Some(edit) if is_same => format!("{was}, {}", edit.described(number)),
            Some(edit) => format!("{was}, {is}, with {} instead of {}", edit.is(), edit.was()),
            None if is_same => format!(
                "{was}, but its other keys are now different, such as `env`, `when` or `on_success`"
            ),
            None => format!("{was}, {is}"),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described(None))
    }
}
