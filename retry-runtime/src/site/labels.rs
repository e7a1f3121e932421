//! The labels of a function's metrics.

use metrics::{Label, SharedString};

use crate::base::name::{Name, NameText};
use crate::base::sync::Arc;
use crate::outcome::ended::Reason;

/// The labels of a function: its name, together with each reason. Created once: a metric borrows
/// static labels, but would allocate any others at each failure.
pub(crate) type Labels = Box<[[Label; 2]; Reason::COUNT]>;

pub(crate) fn labels(name: &Name) -> Labels {
    let name = text(name);
    Box::new(core::array::from_fn(|reason| [of_name(name.clone()), of_reason(Reason::ALL[reason])]))
}

pub(crate) fn of_name(name: SharedString) -> Label {
    Label::new("name", name)
}

pub(crate) fn of_reason(reason: Reason) -> Label {
    Label::from_static_parts("reason", reason.as_str())
}

/// A name as the text of a label, without allocating.
pub(crate) fn text(name: &Name) -> SharedString {
    match &name.0 {
        NameText::Static(name) => SharedString::const_str(name),
        NameText::Shared(name) | NameText::Member(name, _) => {
            SharedString::from_shared(Arc::clone(name))
        }
    }
}
