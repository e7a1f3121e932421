//! Sets of fields and of rules: one bit for each element, so that they are `Copy` and can be used
//! in `const`.

/// Declares a set of the variants of `$Element`, an enum with `ALL`.
macro_rules! set {
    ($(#[$docs:meta])* pub struct $Set:ident of $Element:ident;) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Set(u64);

        const _: () = assert!($Element::ALL.len() <= u64::BITS as usize, "a bit for each");

        impl $Set {
            /// The empty set.
            pub const NONE: Self = Self(0);

            /// Creates the set of these elements.
            pub const fn from_slice(elements: &[$Element]) -> Self {
                let mut set = Self::NONE;
                let mut i = 0;
                while i < elements.len() {
                    set = set.with(elements[i]);
                    i += 1;
                }
                set
            }

            /// Returns this set with `element` added.
            #[must_use]
            pub const fn with(self, element: $Element) -> Self {
                Self(self.0 | 1 << element as u64)
            }

            /// Returns the elements that are in this set or in `other`.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns the elements of this set that are not in `other`.
            #[must_use]
            pub const fn difference(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            /// Returns `true` if `element` is in the set.
            pub const fn contains(self, element: $Element) -> bool {
                self.0 & 1 << element as u64 != 0
            }

            /// Returns `true` if an element is in both sets.
            pub const fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// Returns `true` if nothing is in the set.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            #[doc = concat!("Iterates over the set, in the order of [`", stringify!($Element), "::ALL`].")]
            pub fn iter(self) -> impl Iterator<Item = $Element> {
                $Element::ALL.iter().copied().filter(move |element| self.contains(*element))
            }
        }
    };
}

pub(super) use set;
