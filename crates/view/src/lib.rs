//! Shows what `check` found: to people as text and drawings, to programs as JSON.
//!
//! ```text
//!   Counterexample ──> Picture ──> Scene ──┬──> human   boxes and sentences on a terminal
//!        │                ↑                ├──> dot     for Graphviz
//!        └──> Finding ────┘                └──> svg     lanes, boxes, curved arrows
//!             (a file, written and read back)
//!
//!   Verdicts ──> Report ──> human · json            Verdict ──> Certificate ──> a line of JSON, and back
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`picture`] | what is shown of a counterexample, whether it was just found or read back from a file |
//! | [`scene`] | who takes part and which arrows join them, ready to be drawn |
//! | [`human`] | a counterexample in words |
//! | [`report`] | the verdicts on one history, in words and as JSON |
//! | [`dot`], [`svg`] | drawings |
//! | [`beside`] | a run and another one that it could have been, side by side |
//! | [`terminals`] | statements of several sessions as people would type them, a column each |
//! | [`certificate`] | verdicts that somebody else can re-check, and reading them without trusting them |
//! | [`finding`] | counterexample files |
//!
//! It opens no files, knows no terminal and picks no colours: whoever prints hands over a [`Palette`].

pub mod beside;
pub mod certificate;
pub mod dot;
pub mod finding;
pub mod human;
mod lanes;
pub mod picture;
pub mod report;
pub mod scene;
pub mod svg;
pub mod terminals;
pub mod words;

pub use beside::Beside;
pub use certificate::Certificate;
pub use finding::Finding;
pub use picture::Picture;
pub use report::Report;
pub use scene::Scene;

/// What to write before and after words that stand out; nothing by default.
#[derive(Clone, Copy, Default, Debug)]
pub struct Palette {
    /// Before a heading.
    pub heading: &'static str,
    /// Before good news.
    pub good: &'static str,
    /// Before bad news.
    pub bad: &'static str,
    /// Before what is not known.
    pub doubtful: &'static str,
    /// Before what may be overlooked.
    pub faint: &'static str,
    /// After each of these.
    pub end: &'static str,
}

impl Palette {
    /// No colours at all.
    pub const PLAIN: Palette = Palette { heading: "", good: "", bad: "", doubtful: "", faint: "", end: "" };
}
