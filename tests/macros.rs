//! The modules of the macro, as a library: a proc-macro crate cannot be called as
//! one, so that tests and the fuzzer compile its files into themselves.
//!
//! They call each other from the root of their crate: `use macros::*` there.

#[path = "../retry-macros/src"]
mod source {
    pub(crate) mod args;
    pub(crate) mod classify;
    pub(crate) mod docs;
    pub(crate) mod expand;
    pub(crate) mod function;
    pub(crate) mod options;
    pub(crate) mod signature;
    pub(crate) mod tokens;
    pub(crate) mod value;
}

pub(crate) use source::options::*;
pub(crate) use source::*;
