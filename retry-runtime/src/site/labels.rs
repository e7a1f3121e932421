//! The labels under which `metrics` counts a function.

use metrics::Label;

use crate::outcome::error::Reason;

/// The labels of a function: its name, beside each reason. Made once, for a metric
/// borrows what is static, and would allocate what is not at each failure.
pub(crate) type Labels = Box<[[Label; 2]; Reason::COUNT]>;

pub(crate) fn labels(name: &'static str) -> Labels {
    let label = Label::from_static_parts;
    Box::new(core::array::from_fn(|reason| {
        [label("name", name), label("reason", Reason::ALL[reason].as_str())]
    }))
}
