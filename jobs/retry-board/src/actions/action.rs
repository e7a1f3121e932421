//! [`Action`]: one row for what a user can do to jobs and dead letters. Its routes, its API, its
//! description there, its confirmation and its buttons follow from the row.

use futures_util::future::BoxFuture;
use maud::Markup;
use retry_workflow::{ItemState, Operator};

use super::jobs_form::JobsForm;
use super::once::Done;
use crate::data::job::JobPage;
use crate::data::letters::FilterFields;
use crate::request::problem::Problem;
use crate::request::query::Address;

/// An action on jobs or dead letters.
pub(crate) struct Action {
    /// The last part of its addresses, and the id of its button.
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    /// The description in the API.
    pub(crate) summary: &'static str,
    /// The text of its button.
    pub(crate) label: &'static str,
    /// The class of its button: empty, `primary` or `danger`.
    pub(crate) style: &'static str,
    /// Returns whether the page of a job has a button for it.
    pub(crate) is_for: fn(&JobPage) -> bool,
    /// `None`: its button acts at once.
    pub(crate) confirmation: Option<Confirmation>,
    pub(crate) act: fn(Request) -> BoxFuture<'static, Result<Done, Problem>>,
}

impl Action {
    /// The page that its confirmation leads back to.
    pub(crate) fn back(&self, filter: &FilterFields) -> Address {
        match (self.target, &filter.job) {
            (Target::Job, Some(job)) => Address::new("job").with("id", job),
            _ => filter.address("dead-letters"),
        }
    }
}

/// The objects of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One job.
    Job,
    /// The dead letters that a filter selects. Lists and items have buttons for it.
    Letters,
    /// Items of a job that have not ended, by their ids. Lists and items have buttons for it.
    Items,
}

impl Target {
    /// Returns the kind of the actions on an item in this state.
    pub(crate) const fn of(state: ItemState) -> Option<Self> {
        match state {
            ItemState::Dead | ItemState::Skipped => Some(Self::Letters),
            ItemState::Pending | ItemState::Leased => Some(Self::Items),
            ItemState::Succeeded => None,
        }
    }
}

/// A page that shows what an action would do, with the form that performs it.
pub(crate) struct Confirmation {
    /// The name of the number of items in JSON.
    pub(crate) counted: &'static str,
    /// The effect on the items, which follows their number.
    pub(crate) effect: &'static str,
    /// Further fields of the form.
    pub(crate) fields: fn(u64) -> Markup,
}

/// A request to act.
pub(crate) struct Request {
    pub(crate) form: JobsForm,
    pub(crate) operator: Operator,
    /// The command that messages name.
    pub(crate) command: String,
}
