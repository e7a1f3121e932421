//! The seal of public traits: only this crate can name it.

/// The supertrait of a public trait that only this crate implements.
pub trait Sealed {}

/// An argument of a method of a public trait that only this crate implements, for traits whose
/// implementors are not all known by name.
#[derive(Clone, Copy, Debug)]
pub struct Seal;
