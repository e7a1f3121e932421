//! Forms: each is bound to the browser that it was made for, and works once, however often it is
//! sent.

use maud::{Markup, html};

use crate::request::RequestContext;
use crate::safety::secret::Secret;

/// The hidden fields of every form that changes something.
pub(crate) fn proof(context: &RequestContext) -> Markup {
    html! {
        input type="hidden" name="csrf" value=(context.csrf());
        input type="hidden" name="once" value=(Secret::nonce());
    }
}

/// Hidden fields with these values.
pub(crate) fn hidden<'a>(fields: impl IntoIterator<Item = (&'a str, impl maud::Render)>) -> Markup {
    html! {
        @for (name, value) in fields {
            input type="hidden" name=(name) value=(value);
        }
    }
}
