//! Conversions by one expression.

/// Implements `From`: `conversion!(|error: StoreError| -> ImportError { Self::Store(error) })`.
#[doc(hidden)]
#[macro_export]
macro_rules! conversion {
    (|$value:ident: $From:ty| -> $To:ty $make:block) => {
        impl From<$From> for $To {
            fn from($value: $From) -> Self $make
        }
    };
}
