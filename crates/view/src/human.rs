//! A counterexample in words, to be understood in a minute.
//!
//! Four parts, in the order in which an engineer asks: what is it, what happened, why can that not be, who forbids it.
//!
//! ```text
//!   lost update (G-single): two transactions updated the same version of a key, and one of the updates is lost
//!
//!     initially: x = 0
//!
//!     session a           session b
//!     ┌─ t1 ─────────┐    ┌─ t2 ─────────┐
//!     …
//!     if t1's write of x came before t2's:
//!       t1 → t2 (ww on x): …
//!       t2 → t1 (rw on x): t2 read x = 0, which t1 overwrote with 1
//!
//!     psi forbids this, and so do snapshot, serializable, …
//! ```

use crate::Palette;
use crate::lanes;
use crate::picture::Picture;
use crate::scene::{Scene, ToldCase};
use crate::words;
use skew_history::Writer;
use std::fmt::Write as _;

/// Where a sentence goes on in the next line.
const WIDEST_SENTENCE: usize = 106;

/// The counterexample as text.
pub fn counterexample(picture: Picture<'_>, palette: Palette) -> String {
    let scene = Scene::new(picture);
    let mut out = String::new();
    let Palette { bad, faint, end, .. } = palette;
    let [name, in_words] = &scene.title;
    line(&mut out, &format!("{bad}{name}{end}: {in_words}"));
    line(&mut out, "");
    if let Some(initial) = scene.participants.iter().find(|who| who.writer == Writer::Initial) {
        line(&mut out, &format!("  {faint}initially: {}{end}", initial.lines.join(", ")));
        line(&mut out, "");
    }
    for drawn in lanes::draw(&scene) {
        line(&mut out, &drawn);
    }
    if scene.left_out > 0 {
        line(&mut out, &format!("  {faint}({} more transactions are not shown){end}", scene.left_out));
        line(&mut out, "");
    }
    let several = scene.cases.len() > 1;
    for case in &scene.cases {
        tell(&mut out, case, several, palette);
    }
    if scene.untold > 0 {
        line(&mut out, &format!("  {faint}(and {} more cases){end}", scene.untold));
        line(&mut out, "");
    }
    line(&mut out, &format!("  {}", scene.meaning));
    out
}

fn tell(out: &mut String, case: &ToldCase, several: bool, palette: Palette) {
    let Palette { heading, end, .. } = palette;
    match &case.assumption {
        Some(assumption) => line(out, &format!("  {heading}if {assumption}:{end}")),
        None if several => line(out, &format!("  {heading}in any case:{end}")),
        None if case.sentences.len() > 1 => line(out, &format!("  {heading}a cycle:{end}")),
        None => {}
    }
    for sentence in &case.sentences {
        for (number, part) in words::wrap(sentence, WIDEST_SENTENCE).into_iter().enumerate() {
            line(out, &format!("{}{part}", if number == 0 { "    " } else { "      " }));
        }
    }
    line(out, "");
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string");
}
