//! The seal of public traits: only this crate can name it.

/// The supertrait of a public trait that only this crate implements.
pub trait Sealed {}

/// An argument of a method of a public trait that only this crate implements, for traits whose
/// implementors are not all known by name.
#[derive(Clone, Copy, Debug)]
pub struct Seal;

/// Defines a type for a closure that clones share, and seals it.
macro_rules! shared_closure {
    ($(#[$doc:meta])* $Name:ident) => {
        $(#[$doc])*
        pub struct $Name<F>(pub(crate) std::sync::Arc<F>);

        impl<F> Clone for $Name<F> {
            fn clone(&self) -> Self {
                Self(std::sync::Arc::clone(&self.0))
            }
        }

        impl<F> core::fmt::Debug for $Name<F> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(stringify!($Name))
            }
        }

        impl<F> crate::base::sealed::Sealed for $Name<F> {}
    };
}

pub(crate) use shared_closure;

/// No type implements it. A second implementation of a trait, for types that implement this, applies
/// to none; but with one implementation alone, the compiler would assume its types, and report what
/// it requires in place of the trait's own message. The two differ in a parameter of the trait: `()`
/// and `Infallible`.
pub trait Never {}
