//! Files that are written whole or not at all, never over an input, and by one process at a time.
//!
//! ```text
//!   path ── Draft: refuse an input, refuse what another skew writes, open beside the place ──┬── publish   in its place, at once
//!                                                                                            └── dropped   as if never begun
//! ```
//!
//! A command says what it reads ([`note_input`]), and begins every file that it writes as a [`Draft`]. Why we refuse to write a file that
//! the system would let us write is a [`Refusal`], inside an [`std::io::Error`].

mod draft;
mod inputs;
mod refusal;

pub use draft::{Draft, is_one_place};
pub use inputs::note_input;
pub use refusal::Refusal;
