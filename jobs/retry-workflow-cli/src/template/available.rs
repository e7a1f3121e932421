//! [`AvailableValues`]: the placeholders that may be used at a place of a file.

use crate::template::placeholder::{CapturedName, Meaning};

/// The placeholders that may be used in a text.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub(crate) struct AvailableValues<'a> {
    pub(crate) item: bool,
    pub(crate) map: bool,
    pub(crate) error: bool,
    pub(crate) last: bool,
    pub(crate) captured: &'a [CapturedName],
    /// Set if its step may come back later when it is not ready.
    pub(crate) postpones: bool,
    /// The noun for the text in messages: "a step of `map`".
    pub(crate) label: &'static str,
}

/// The label of a step that runs once the job has ended.
pub(crate) const AT_THE_END: &str = "a step of `on_finish`";

/// The label of a task of a graph.
pub(crate) const A_TASK: &str = "a task";

impl<'a> AvailableValues<'a> {
    /// The values of a step that may come back later if it is not ready.
    pub(crate) fn postponable() -> Self {
        Self { postpones: true, ..Self::default() }
    }

    pub(super) fn names(self) -> Vec<&'a str> {
        let mut names = if self.item { vec!["item", "item.path"] } else { Vec::new() };
        let is_here = |(_, meaning): &&(_, Meaning)| self.has(meaning);
        names.extend(Meaning::NAMES.iter().filter(is_here).map(|(name, _)| *name));
        names.extend(self.captured.iter().map(|captured| captured.name.as_str()));
        names
    }

    pub(super) fn captured(self, name: &str) -> Option<&'a CapturedName> {
        self.captured.iter().rev().find(|captured| captured.name == name)
    }

    /// Lists the available placeholders for a message.
    pub(super) fn listed(self) -> String {
        let names = self.names();
        if names.is_empty() {
            return format!("{} cannot use placeholders", self.label);
        }
        let names: Vec<_> = names.iter().map(|name| format!("`${{{name}}}`")).collect();
        format!("{} can use {}", self.label, names.join(", "))
    }

    pub(super) fn has(self, meaning: &Meaning) -> bool {
        match meaning {
            Meaning::Item(_) => self.item,
            Meaning::Results | Meaning::Total | Meaning::Successful | Meaning::Failed => self.map,
            Meaning::Error => self.error,
            Meaning::LastOutput => self.last,
            Meaning::ShellOutput => self.last || self.error,
            Meaning::Captured(..) | Meaning::Ended(..) => true,
        }
    }
}
