//! A counterexample as one SVG file: sessions as lanes, transactions as boxes with their events, arrows with labels.
//!
//! ```text
//!   layout   where the boxes stand       route   how the arrows run       here   the elements, the style, the story below
//! ```
//!
//! The file is complete: no scripts, no fonts, no links. It brings its own ground, so that it is legible on any page, and turns
//! dark where the reader's system is. All names are escaped.

mod layout;
mod route;

use crate::dot::CASE_COLOURS;
use crate::picture::Picture;
use crate::scene::{Arrow, Participant, Scene};
use crate::words::wrap;
use layout::{Area, SceneLayout};
pub(crate) use layout::{LETTER, LINE};
use route::Route;
use std::fmt::Write as _;

/// The same on dark ground.
const CASE_COLOURS_AT_NIGHT: [&str; 4] = ["#fb923c", "#60a5fa", "#4ade80", "#c084fc"];
const NARROWEST: f64 = 720.0;
pub(crate) const MARGIN: f64 = 24.0;

/// The counterexamples, one below the other.
pub fn counterexamples(pictures: &[Picture<'_>]) -> String {
    document(&pictures.iter().map(|&picture| Drawing::of_counterexample(picture)).collect::<Vec<Drawing>>())
}

/// Drawings, one below the other, as a file.
pub(crate) fn document(drawings: &[Drawing]) -> String {
    let width = drawings.iter().map(|drawing| drawing.width).fold(NARROWEST, f64::max);
    let height = drawings.iter().map(|drawing| drawing.height).sum::<f64>().max(2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n{}{}<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        style(),
        markers(),
    );
    let mut top = 0.0;
    for drawing in drawings {
        writeln!(out, "<g transform=\"translate(0 {top:.0})\">\n{}</g>", drawing.elements)
            .expect("writing to a string");
        top += drawing.height;
    }
    out.push_str("</svg>\n");
    out
}

fn style() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    for case in 0..CASE_COLOURS.len() {
        let rule = |colour| {
            format!(
                "path.case{case}{{stroke:{colour}}}text.case{case},.head.case{case},circle.case{case}{{fill:{colour}}}\n"
            )
        };
        light.push_str(&rule(CASE_COLOURS[case]));
        dark.push_str(&rule(CASE_COLOURS_AT_NIGHT[case]));
    }
    format!(
        "<style>\n\
         text{{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2937}}\n\
         .name{{font-weight:bold}}.title{{font-size:18px;font-weight:bold}}.faint{{fill:#6b7280}}\n\
         .ground,.under{{fill:#ffffff}}.lane{{fill:#f3f4f6}}\n\
         .box{{fill:#ffffff;stroke:#374151;stroke-width:1.5}}.restored{{stroke-dasharray:5 4;stroke:#6b7280}}\n\
         path{{fill:none;stroke-width:1.7}}path.shared{{stroke:#374151}}.head.shared{{fill:#374151}}\n\
         path.aside{{stroke:#9ca3af;stroke-dasharray:5 4;stroke-width:1.3}}.head.aside{{fill:#9ca3af}}text.aside{{fill:#6b7280}}\n\
         {light}@media (prefers-color-scheme:dark){{\n\
         text{{fill:#e5e7eb}}.faint,text.aside{{fill:#9ca3af}}.ground,.under{{fill:#111827}}.lane{{fill:#1f2937}}\n\
         .box{{fill:#111827;stroke:#d1d5db}}.restored{{stroke:#9ca3af}}path.shared{{stroke:#d1d5db}}.head.shared{{fill:#d1d5db}}\n\
         {dark}}}\n</style>\n"
    )
}

/// An arrowhead per colour, since a marker does not know the colour of its line everywhere.
fn markers() -> String {
    let mut out = String::from("<defs>\n");
    let cases = (0..CASE_COLOURS.len()).map(|case| format!("case{case}"));
    for class in cases.chain(["shared".to_owned(), "aside".to_owned()]) {
        writeln!(
            out,
            "<marker id=\"{class}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto-start-reverse\"><path class=\"head {class}\" style=\"stroke:none\" d=\"M0 0L10 5L0 10z\"/></marker>"
        )
        .expect("writing to a string");
    }
    out.push_str("</defs>\n");
    out
}

/// One counterexample or another part of a file, with its top at 0.
pub(crate) struct Drawing {
    pub(crate) elements: String,
    width: f64,
    /// How far down it goes so far.
    pub(crate) height: f64,
}

impl Drawing {
    /// A counterexample.
    pub(crate) fn of_counterexample(picture: Picture<'_>) -> Drawing {
        Drawing::new(&Scene::new(picture))
    }

    /// One that is to be filled, at least so wide.
    pub(crate) fn empty(width: f64) -> Drawing {
        Drawing { elements: String::new(), width: width.max(NARROWEST), height: MARGIN }
    }

    fn new(scene: &Scene) -> Drawing {
        let layout = SceneLayout::new(scene);
        let mut drawing = Drawing::empty(layout.width);
        let width = drawing.width;
        drawing.title(scene);
        let (top, left) = (drawing.height, (width - layout.width) / 2.0);
        writeln!(drawing.elements, "<g transform=\"translate({left:.0} {top:.0})\">").expect("writing to a string");
        drawing.lanes(&layout);
        let routes = route::routes(scene, &layout);
        for (arrow, route) in scene.arrows.iter().zip(&routes) {
            drawing.arrow(arrow, route.as_ref());
        }
        for (participant, &area) in scene.participants.iter().zip(&layout.boxes) {
            drawing.participant(participant, area);
        }
        for (arrow, route) in scene.arrows.iter().zip(&routes) {
            drawing.label(arrow, route.as_ref());
        }
        drawing.elements.push_str("</g>\n");
        drawing.height += layout.height + LINE;
        drawing.story(scene);
        drawing.height += MARGIN;
        drawing
    }

    /// Text at a place, escaped.
    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let text = escape(text);
        writeln!(
            self.elements,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" xml:space=\"preserve\">{text}</text>"
        )
        .expect("writing to a string");
    }

    /// A line in large letters.
    pub(crate) fn heading(&mut self, text: &str) {
        self.height += LINE;
        self.text("title", (MARGIN, self.height - 4.0), text);
    }

    fn title(&mut self, scene: &Scene) {
        let [name, words] = &scene.title;
        self.heading(name);
        self.paragraph("faint", 0.0, words);
    }

    /// Text that goes on in the next line where the drawing ends.
    fn paragraph(&mut self, class: &str, indent: f64, text: &str) {
        let letters = ((self.width - 2.0 * MARGIN - indent) / LETTER) as usize;
        for line in wrap(text, letters.max(20)) {
            self.height += LINE;
            self.text(class, (MARGIN + indent, self.height), &line);
        }
    }

    fn lanes(&mut self, layout: &SceneLayout) {
        for lane in &layout.lanes {
            let Area { x, y, width, height } = lane.area;
            writeln!(
                self.elements,
                "<rect class=\"lane\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"/>"
            )
            .expect("writing to a string");
            self.text("faint", (x + 12.0, y + 19.0), &lane.title);
        }
    }

    fn participant(&mut self, participant: &Participant, area: Area) {
        let Area { x, y, width, height } = area;
        let class = if participant.takes_part { "box" } else { "box restored" };
        writeln!(
            self.elements,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\"/>"
        )
        .expect("writing to a string");
        self.text("name", (x + 12.0, y + 19.0), &participant.name);
        for (number, line) in participant.lines.iter().enumerate() {
            self.text("event", (x + 12.0, y + 39.0 + number as f64 * LINE), line);
        }
    }

    fn arrow(&mut self, arrow: &Arrow, route: Option<&Route>) {
        let Some(route) = route else { return };
        let [(ax, ay), (bx, by), (cx, cy), (dx, dy)] = route.curve.points;
        let class = class(arrow);
        writeln!(
            self.elements,
            "<path class=\"{class}\" marker-end=\"url(#{class})\" \
             d=\"M{ax:.1} {ay:.1}C{bx:.1} {by:.1} {cx:.1} {cy:.1} {dx:.1} {dy:.1}\"/>"
        )
        .expect("writing to a string");
    }

    fn label(&mut self, arrow: &Arrow, route: Option<&Route>) {
        let Some(Route { label: (x, y), .. }) = route else { return };
        let width = arrow.label.chars().count() as f64 * LETTER;
        let left = x - width / 2.0;
        writeln!(
            self.elements,
            "<rect class=\"under\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"17\" rx=\"3\" opacity=\"0.9\"/>",
            left - 3.0,
            y - 9.0,
            width + 6.0
        )
        .expect("writing to a string");
        self.text(&class(arrow), (left, y + 4.5), &arrow.label);
    }

    fn story(&mut self, scene: &Scene) {
        if scene.left_out > 0 {
            self.paragraph("faint", 0.0, &format!("({} more transactions are not shown)", scene.left_out));
        }
        for (number, case) in scene.cases.iter().enumerate() {
            if let Some(assumption) = &case.assumption {
                self.height += LINE / 2.0;
                self.dot(number);
                self.paragraph("name", 16.0, &format!("if {assumption}:"));
            }
            let indent = if case.assumption.is_some() { 32.0 } else { 0.0 };
            for sentence in &case.sentences {
                self.paragraph("event", indent, sentence);
            }
        }
        if scene.untold > 0 {
            self.paragraph("faint", 0.0, &format!("(and {} more cases)", scene.untold));
        }
        self.height += LINE / 2.0;
        self.paragraph("faint", 0.0, &scene.meaning);
    }

    fn dot(&mut self, case: usize) {
        let (x, y, case) = (MARGIN + 5.0, self.height + LINE - 4.5, case % CASE_COLOURS.len());
        writeln!(self.elements, "<circle class=\"case{case}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>")
            .expect("writing to a string");
    }
}

fn class(arrow: &Arrow) -> String {
    match arrow.cases.as_slice() {
        [] => "aside".to_owned(),
        [case] => format!("case{}", case % CASE_COLOURS.len()),
        _ => "shared".to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
