//! [`EditedStep`]: a finished step that is no longer where it was, because its file was edited.

use std::fmt::{self, Write as _};

use crate::steps::step::{Step, StepId, Steps};
use retry_workflow::sanitize::OneLine;

/// A step that is done, but is no longer at its place in its list.
#[derive(Debug)]
pub(crate) struct EditedStep {
    number: usize,
    /// The place of its list, if that belongs to another step: " of `on_success` of `pay`".
    place: String,
    /// Its command, and what is at its place now.
    edit: String,
}

impl EditedStep {
    pub(super) fn new(at: usize, was: &StepId, is: Option<&Step>) -> Self {
        let number = at + 1;
        let now = match is.map(Step::id) {
            None => "which no longer exists".to_owned(),
            Some(is) if is.command == was.command => {
                "but the rest of its command or another key, such as `env`, `when`, `capture` or \
                 `on_success`, is now different"
                    .to_owned()
            }
            Some(is) => format!("but step {number} is now `{}`", OneLine(&is.command)),
        };
        let edit = format!("`{}`, {now}", OneLine(&was.command));
        Self { number, place: String::new(), edit }
    }

    /// The same in a list under this key of an outer step.
    pub(super) fn inside(mut self, key: &str, outer: &Step) -> Self {
        let _infallible = write!(self.place, " of `{key}` of `{}`", OneLine(&outer.label));
        self
    }
}

impl fmt::Display for EditedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}{}, {}", self.number, self.place, self.edit)
    }
}

impl Steps {
    /// Checks that these steps, all of which are done, are the first ones of the list.
    ///
    /// # Errors
    /// The first one that is not.
    pub(crate) fn begin_with(&self, done: &[StepId]) -> Result<(), EditedStep> {
        let mut now = self.0.iter();
        for (at, was) in done.iter().enumerate() {
            let is = now.next();
            if is.map(Step::id).as_ref() != Some(was) {
                return Err(EditedStep::new(at, was, is));
            }
        }
        Ok(())
    }
}
