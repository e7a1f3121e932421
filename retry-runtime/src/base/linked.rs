//! Arrays that the linker assembles, where it can: the linker of wasm cannot.

/// Declares an array of what expansions register. On wasm it is empty.
macro_rules! linked {
    ($(#[$meta:meta])* pub static $name:ident: [$element:ty];) => {
        $(#[$meta])*
        #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
        #[linkme::distributed_slice]
        pub static $name: [$element];

        $(#[$meta])*
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        pub static $name: &[$element] = &[];
    };
}
pub(crate) use linked;
