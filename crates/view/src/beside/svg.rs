//! Two runs side by side as a drawing, and below them what is wrong with the second.
//!
//! ```text
//!   causal: a run that could have been       a title
//!   ┌ observed ──┐  ┌ predicted ─┐           a panel each, rows at one height; what changed stands on a ground of its own,
//!   └────────────┘  └────────────┘           what is gone is faint
//!   lost update …                            the counterexample, as `svg` draws it
//! ```

use super::{Beside, BesideMark, BesideRow};
use crate::picture::Picture;
use crate::svg::{Drawing, LETTER, LINE, MARGIN, document};
use std::fmt::Write as _;

const PADDING: f64 = 12.0;

/// Pairs of runs, each with a title and with what is wrong with the second run, in one document.
pub fn drawings(pairs: &[(String, Beside<'_>, Picture<'_>)]) -> String {
    let drawn = |(title, beside, picture): &(String, Beside<'_>, Picture<'_>)| {
        [panels(title, &beside.rows()), Drawing::of_counterexample(*picture)]
    };
    document(&pairs.iter().flat_map(drawn).collect::<Vec<Drawing>>())
}

fn panels(title: &str, rows: &[BesideRow]) -> Drawing {
    let letters = |text: fn(&BesideRow) -> &str| rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0);
    let events = rows.iter().filter(|row| row.mark != BesideMark::Session);
    let names = events.map(|row| row.name.chars().count()).max().unwrap_or(0) as f64 * LETTER + PADDING;
    let (left, right) = (letters(|row| &row.observed).max(8), letters(|row| &row.predicted).max(9));
    let left = left as f64 * LETTER + 2.0 * PADDING;
    let right = right as f64 * LETTER + 2.0 * PADDING;
    let columns = [MARGIN + names, MARGIN + names + left + MARGIN];
    let mut drawing = Drawing::empty(columns[1] + right + MARGIN);
    drawing.heading(title);
    let (top, height) = (drawing.height + LINE / 2.0, (rows.len() as f64 + 1.5) * LINE);
    for (x, width) in [(columns[0], left), (columns[1], right)] {
        writeln!(
            drawing.elements,
            "<rect class=\"lane\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"/>"
        )
        .expect("writing to a string");
    }
    drawing.height = top + LINE;
    for (x, name) in columns.into_iter().zip(["observed", "predicted"]) {
        drawing.text("name", (x + PADDING, drawing.height), name);
    }
    for row in rows {
        drawing.height += LINE;
        draw(&mut drawing, row, columns, right);
    }
    drawing.height += 2.0 * LINE;
    drawing
}

fn draw(drawing: &mut Drawing, row: &BesideRow, columns: [f64; 2], width: f64) {
    let y = drawing.height;
    let class = match row.mark {
        BesideMark::Session => return drawing.text("faint", (columns[0] + PADDING, y), &row.name),
        BesideMark::Changed => {
            let (x, top) = (columns[1] + 4.0, y - LINE + 5.0);
            writeln!(
                drawing.elements,
                "<rect class=\"box\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{LINE:.1}\" rx=\"3\"/>",
                width - 8.0
            )
            .expect("writing to a string");
            "name"
        }
        BesideMark::Same => "event",
        BesideMark::Gone => "faint",
    };
    drawing.text("name", (MARGIN, y), &row.name);
    let observed = if row.mark == BesideMark::Gone { "faint" } else { "event" };
    drawing.text(observed, (columns[0] + PADDING, y), &row.observed);
    drawing.text(class, (columns[1] + PADDING, y), &row.predicted);
}
