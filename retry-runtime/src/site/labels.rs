//! The labels under which `metrics` counts a function.

use metrics::{Label, SharedString};

use crate::base::name::{Name, Text};
use crate::base::sync::Arc;
use crate::outcome::error::Reason;

/// The labels of a function: its name, beside each reason. Made once, for a metric
/// borrows what is static, and would allocate what is not at each failure.
pub(crate) type Labels = Box<[[Label; 2]; Reason::COUNT]>;

pub(crate) fn labels(name: &Name) -> Labels {
    let name = text(name);
    Box::new(core::array::from_fn(|reason| {
        let reason = Reason::ALL[reason].as_str();
        [Label::new("name", name.clone()), Label::from_static_parts("reason", reason)]
    }))
}

/// A name as the text of a label; nothing is allocated.
pub(crate) fn text(name: &Name) -> SharedString {
    match &name.0 {
        Text::Static(name) => SharedString::const_str(name),
        Text::Shared(name) | Text::Member(name, _) => SharedString::from_shared(Arc::clone(name)),
    }
}
