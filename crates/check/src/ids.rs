//! Numbers that mean different things are different types.
//!
//! Everything here stands in vectors and is found by its place there: nodes, variables, clauses, edges. Four bytes each, because there are
//! many of them. What transactions, keys and events are called comes from `skew-history` and looks alike.

/// A number that is a place in a vector.
macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) struct $name(u32);

        impl $name {
            pub(crate) const fn new(index: usize) -> $name {
                $name(index as u32)
            }

            /// The place in a vector.
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub(crate) use dense_id;
