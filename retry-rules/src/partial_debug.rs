//! `Debug` of types whose fields have none.

/// Implements `Debug` with the name of a type and some of its fields: `partial_debug!([K] Breakers<K>,
/// |self| { name: &self.name })`.
#[doc(hidden)]
#[macro_export]
macro_rules! partial_debug {
    (
        $([$($generics:tt)*])? $Type:ident $(<$($parameter:tt),*>)?
        $(, |$this:ident| { $($field:ident: $value:expr),* $(,)? })?
    ) => {
        impl $(<$($generics)*>)? ::core::fmt::Debug for $Type $(<$($parameter),*>)? {
            $crate::partial_debug!(@fmt $Type $(, $this $($field $value)*)?);
        }
    };
    (@fmt $Type:ident) => {
        $crate::partial_debug!(@fmt $Type, self);
    };
    (@fmt $Type:ident, $this:ident $($field:ident $value:expr)*) => {
        fn fmt(&$this, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            f.debug_struct(stringify!($Type))
                $(.field(stringify!($field), $value))*
                .finish_non_exhaustive()
        }
    };
}
