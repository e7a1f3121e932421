//! The setters and getters of settings.

/// Declares setters and getters in an `impl` block, by their signature and the field:
///
/// - `pub fn name(self, value: Type) -> Self { field: value }` sets it;
/// - `pub fn name(self) -> Self { field: value }` sets it to one value;
/// - `pub fn name(&self) -> Type { field }` returns it, `{ &field }` a reference to it, and
///   `{ field.method() }` what a method of it returns.
#[doc(hidden)]
#[macro_export]
macro_rules! accessors {
    () => {};
    ($(#[$attribute:meta])* pub const fn $($rest:tt)*) => {
        $crate::accessors! { @ [$(#[$attribute])* pub const fn] $($rest)* }
    };
    ($(#[$attribute:meta])* pub fn $($rest:tt)*) => {
        $crate::accessors! { @ [$(#[$attribute])* pub fn] $($rest)* }
    };
    (
        @ [$($function:tt)*] $name:ident(self, $value:ident: $Type:ty) -> Self {
            $($field:ident).+: $new:expr
        }
        $($rest:tt)*
    ) => {
        $($function)* $name(mut self, $value: $Type) -> Self {
            self.$($field).+ = $new;
            self
        }
        $crate::accessors! { $($rest)* }
    };
    (@ [$($function:tt)*] $name:ident(self) -> Self { $($field:ident).+: $new:expr } $($rest:tt)*) => {
        $($function)* $name(mut self) -> Self {
            self.$($field).+ = $new;
            self
        }
        $crate::accessors! { $($rest)* }
    };
    (@ [$($function:tt)*] $name:ident(&self) -> $Type:ty { &$($value:tt)+ } $($rest:tt)*) => {
        $($function)* $name(&self) -> $Type {
            &self.$($value)+
        }
        $crate::accessors! { $($rest)* }
    };
    (@ [$($function:tt)*] $name:ident(&self) -> $Type:ty { $($value:tt)+ } $($rest:tt)*) => {
        $($function)* $name(&self) -> $Type {
            self.$($value)+
        }
        $crate::accessors! { $($rest)* }
    };
}
