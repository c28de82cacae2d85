//! Boxes in columns, for a terminal.
//!
//! ```text
//!   session a           session b
//!   ┌─ t1 ─────────┐    ┌─ t2 ─────────┐
//!   │ read x = 0   │    │ read x = 0   │      a column per session, as many beside each other as fit;
//!   │ write x = 1  │    │ write x = 2  │      boxes that are not on the cycle are dashed
//!   └──────────────┘    └──────────────┘
//! ```

use crate::scene::{Participant, Scene};

/// Where the next column would make the line longer than this, a new band of columns begins.
const WIDEST_LINE: usize = 110;
const GAP: &str = "    ";
const MARGIN: &str = "  ";

/// The lanes of a scene, line by line.
pub(crate) fn draw(scene: &Scene) -> Vec<String> {
    let columns = (0..scene.sessions.len()).map(|session| SessionColumn::new(scene, session));
    let mut bands: Vec<Vec<SessionColumn>> = Vec::new();
    let mut width = usize::MAX;
    for column in columns.filter(|column| column.lines.len() > 1) {
        if width.saturating_add(column.width) > WIDEST_LINE {
            bands.push(Vec::new());
            width = MARGIN.len();
        }
        width += column.width + GAP.len();
        bands.last_mut().expect("a band was begun").push(column);
    }
    bands.iter().flat_map(|band| side_by_side(band)).collect()
}

struct SessionColumn {
    lines: Vec<String>,
    width: usize,
}

impl SessionColumn {
    fn new(scene: &Scene, session: usize) -> SessionColumn {
        let boxes = scene.participants.iter().filter(|who| who.session.is_some_and(|id| id.index() == session));
        let boxes: Vec<&Participant> = boxes.collect();
        let inner = boxes.iter().map(|who| inner_width(who)).max().unwrap_or(0);
        let mut lines = vec![format!("session {}", scene.sessions[session])];
        for participant in boxes {
            draw_box(participant, inner, &mut lines);
        }
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        SessionColumn { lines, width }
    }
}

fn inner_width(participant: &Participant) -> usize {
    let lines = participant.lines.iter().map(|line| line.chars().count());
    lines.chain([participant.name.chars().count() + 3]).max().unwrap_or(0)
}

fn draw_box(participant: &Participant, inner: usize, lines: &mut Vec<String>) {
    let (across, down) = if participant.takes_part { ("─", "│") } else { ("╌", "╎") };
    let rest = inner + 1 - participant.name.chars().count() - 2;
    lines.push(format!("┌{across} {} {}┐", participant.name, across.repeat(rest)));
    for line in &participant.lines {
        lines.push(format!("{down} {line}{} {down}", " ".repeat(inner - line.chars().count())));
    }
    lines.push(format!("└{}┘", across.repeat(inner + 2)));
}

fn side_by_side(band: &[SessionColumn]) -> Vec<String> {
    let height = band.iter().map(|column| column.lines.len()).max().unwrap_or(0);
    let line = |row: usize| {
        let mut line = MARGIN.to_owned();
        for column in band {
            let part = column.lines.get(row).map_or("", String::as_str);
            line.push_str(part);
            line.push_str(&" ".repeat(column.width - part.chars().count()));
            line.push_str(GAP);
        }
        line.trim_end().to_owned()
    };
    (0..height).map(line).chain([String::new()]).collect()
}
