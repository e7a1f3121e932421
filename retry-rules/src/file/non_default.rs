//! Only settings that differ from their defaults are written to files.

/// Returns the value if it differs from the default.
pub(super) fn non_default<T: PartialEq + Copy>(value: T, default: T) -> Option<T> {
    (value != default).then_some(value)
}
