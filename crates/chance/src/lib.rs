//! Seeded chance: what generated histories and workloads on real servers draw, the same on every machine.
//!
//! ```text
//!   seed, session, number ──> Random ── KeyChooser ──> which key comes next
//!                                │
//!                     Preset: how many events, keys and reads there are
//! ```
//!
//! ```
//! use skew_chance::{Distribution, KeyChooser, Random};
//! let keys = KeyChooser::new(Distribution::Hotspot, 10);
//! let mut random = Random::new(7);
//! assert!(keys.draw(&mut random) < 10);
//! ```
//!
//! The mock database has streams of its own, whose numbers are those of runs that were written down long ago.

mod distribution;
mod preset;
mod random;

pub use distribution::{Distribution, KeyChooser, UnknownDistribution};
pub use preset::{Mix, Preset, UnknownPreset};
pub use random::Random;
