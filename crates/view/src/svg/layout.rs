//! Where the boxes stand.
//!
//! ```text
//!            ┌╌ initial state ╌┐                row 0: the initial state, over everything
//!   session a      session b      session c
//!   ┌─ t1 ─┐       ┌─ t2 ─┐                     row 1: nobody they read from is below
//!   └──────┘       └──────┘
//!                                 ┌─ t3 ─┐      row 2: read from t1 and t2
//!                                 └──────┘
//! ```
//!
//! A column per session. Rows go by who read from whom and by session order, so time runs downwards; the empty space between rows
//! and columns is where the arrows run.

use crate::scene::{Participant, Scene};
use skew_check::DependencyKind;

pub(crate) const LETTER: f64 = 7.8;
pub(crate) const LINE: f64 = 18.0;
const PADDING: f64 = 12.0;
const TITLE: f64 = 24.0;
const ROW_GAP: f64 = 84.0;
const MARGIN: f64 = 24.0;
const LANE_TITLE: f64 = 30.0;

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn overlaps(&self, other: &Area) -> bool {
        let across = self.x < other.x + other.width && other.x < self.x + self.width;
        let down = self.y < other.y + other.height && other.y < self.y + self.height;
        across && down
    }

    pub(super) fn centre(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// A session's strip.
pub(super) struct Lane {
    pub(super) title: String,
    pub(super) area: Area,
}

/// All places.
pub(super) struct SceneLayout {
    /// Per participant.
    pub(super) boxes: Vec<Area>,
    /// Per participant.
    pub(super) rows: Vec<usize>,
    pub(super) lanes: Vec<Lane>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl SceneLayout {
    pub(super) fn new(scene: &Scene) -> SceneLayout {
        let rows = rows(scene);
        let mut sizes: Vec<(f64, f64)> = scene.participants.iter().map(size).collect();
        make_room_for_arrows(scene, &rows, &mut sizes);
        let columns = columns(scene, &sizes);
        let (tops, bottom) = row_tops(scene, &rows, &sizes);
        let end = columns.iter().map(|column| column.x + column.width).fold(MARGIN, f64::max);
        let mut boxes = Vec::with_capacity(sizes.len());
        for (number, participant) in scene.participants.iter().enumerate() {
            let (width, height) = sizes[number];
            let middle = match participant.session {
                Some(session) => columns[session.index()].centre().0,
                None => (MARGIN + end) / 2.0,
            };
            boxes.push(Area { x: (middle - width / 2.0).max(MARGIN), y: tops[rows[number]], width, height });
        }
        let reach = boxes.iter().map(|area| area.x + area.width).fold(end, f64::max);
        let lanes = lanes(scene, &columns, &boxes, bottom);
        SceneLayout { boxes, rows, lanes, width: reach + MARGIN, height: bottom }
    }
}

fn size(participant: &Participant) -> (f64, f64) {
    let lines = participant.lines.iter().map(|line| line.chars().count());
    let longest = lines.chain([participant.name.chars().count() + 1]).max().unwrap_or(0);
    let height = TITLE + participant.lines.len() as f64 * LINE + PADDING;
    ((longest as f64 * LETTER + 2.0 * PADDING).max(110.0), height)
}

/// Two boxes side by side are tall enough for the labels of all arrows between them.
fn make_room_for_arrows(scene: &Scene, rows: &[usize], sizes: &mut [(f64, f64)]) {
    for arrow in scene.arrows.iter().filter(|arrow| rows[arrow.from] == rows[arrow.to]) {
        let ends = |other: &crate::scene::Arrow| (other.from.min(other.to), other.from.max(other.to));
        let between = scene.arrows.iter().filter(|other| ends(other) == ends(arrow)).count();
        for end in [arrow.from, arrow.to] {
            sizes[end].1 = sizes[end].1.max((between + 1) as f64 * (LINE + 1.0));
        }
    }
}

/// Sessions from left to right; the gap is as wide as the longest label needs.
fn columns(scene: &Scene, sizes: &[(f64, f64)]) -> Vec<Area> {
    let label = scene.arrows.iter().map(|arrow| arrow.label.chars().count()).max().unwrap_or(0);
    let gap = (label as f64 * LETTER + 70.0).max(110.0);
    let mut columns = vec![Area { x: 0.0, y: 0.0, width: 0.0, height: 0.0 }; scene.sessions.len()];
    let mut x = MARGIN;
    for session in order_of_sessions(scene) {
        let title = &scene.sessions[session];
        let inside = scene.participants.iter().zip(sizes);
        let inside = inside.filter(|(who, _)| who.session.is_some_and(|id| id.index() == session));
        let widest = inside.map(|(_, size)| size.0).fold(0.0, f64::max);
        // A session without a box takes no room.
        let width = if widest > 0.0 { widest.max((title.chars().count() + 8) as f64 * LETTER) } else { -gap };
        columns[session] = Area { x, y: 0.0, width, height: 0.0 };
        x += width + gap;
    }
    columns
}

/// Beside each other stand the sessions that arrows join: of all orders the one with the shortest arrows, where there are few
/// enough to try, and the first of those.
fn order_of_sessions(scene: &Scene) -> Vec<usize> {
    const MOST_TRIED: usize = 7;
    let mut best: Vec<usize> = (0..scene.sessions.len()).collect();
    if best.len() > MOST_TRIED {
        return best;
    }
    let mut order = best.clone();
    let mut least = length_of_arrows(scene, &best);
    while next_permutation(&mut order) {
        let length = length_of_arrows(scene, &order);
        if length < least {
            (least, best) = (length, order.clone());
        }
    }
    best
}

/// Arrows of the cycle count thrice as much as those beside it.
fn length_of_arrows(scene: &Scene, order: &[usize]) -> usize {
    let column = |participant: usize| {
        let session = scene.participants[participant].session?.index();
        order.iter().position(|&other| other == session)
    };
    let length = |arrow: &crate::scene::Arrow| {
        let (Some(from), Some(to)) = (column(arrow.from), column(arrow.to)) else { return 0 };
        from.abs_diff(to) * if arrow.cases.is_empty() { 1 } else { 3 }
    };
    scene.arrows.iter().map(length).sum()
}

/// The next order of the same numbers in the order of dictionaries; false after the last.
fn next_permutation(order: &mut [usize]) -> bool {
    let Some(pivot) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let larger = order.iter().rposition(|&other| other > order[pivot]).unwrap_or(pivot + 1);
    order.swap(pivot, larger);
    order[pivot + 1..].reverse();
    true
}

/// Where each row begins, and where the last one ends.
fn row_tops(scene: &Scene, rows: &[usize], sizes: &[(f64, f64)]) -> (Vec<f64>, f64) {
    let count = rows.iter().max().map_or(0, |last| last + 1);
    let mut heights = vec![0.0; count];
    for (&row, size) in rows.iter().zip(sizes) {
        heights[row] = size.1.max(heights[row]);
    }
    let has_initial = scene.participants.first().is_some_and(|who| who.session.is_none());
    let mut tops = Vec::with_capacity(count);
    let mut y = if has_initial { MARGIN } else { MARGIN + LANE_TITLE };
    for height in heights {
        tops.push(y);
        y += height + ROW_GAP;
    }
    (tops, (y - ROW_GAP).max(MARGIN) + 14.0)
}

fn lanes(scene: &Scene, columns: &[Area], boxes: &[Area], bottom: f64) -> Vec<Lane> {
    let mut lanes = Vec::new();
    let of_transactions = scene.participants.iter().zip(boxes).filter(|(who, _)| who.session.is_some());
    let first = of_transactions.map(|(_, area)| area.y).fold(f64::INFINITY, f64::min);
    for (column, title) in columns.iter().zip(&scene.sessions).filter(|(column, _)| column.width > 0.0) {
        let top = first - LANE_TITLE;
        let area = Area { x: column.x - 12.0, y: top, width: column.width + 24.0, height: bottom - top };
        lanes.push(Lane { title: format!("session {title}"), area });
    }
    lanes
}

/// The row of each participant: below everybody it read from and everybody before it in its session. Edges that would close a
/// cycle are left out: somebody has to be on top.
fn rows(scene: &Scene) -> Vec<usize> {
    let count = scene.participants.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut rows = vec![0; count];
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for later in 1..count {
        let same = scene.participants[later].session == scene.participants[later - 1].session;
        if same && scene.participants[later].session.is_some() {
            edges.push((later - 1, later));
        }
    }
    if scene.participants.first().is_some_and(|who| who.session.is_none()) {
        edges.extend((1..count).map(|other| (0, other)));
    }
    let downwards =
        |kind| matches!(kind, DependencyKind::ReadsFrom | DependencyKind::Session | DependencyKind::RealTime);
    edges.extend(scene.arrows.iter().filter(|arrow| downwards(arrow.kind)).map(|arrow| (arrow.from, arrow.to)));
    for (from, to) in edges {
        if from != to && !reaches(&below, to, from) {
            below[from].push(to);
            sink(&below, &mut rows, from);
        }
    }
    rows
}

fn reaches(below: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; below.len()];
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        if !std::mem::replace(&mut seen[next], true) {
            open.extend(&below[next]);
        }
    }
    false
}

/// Moves everything that must be below `from` as far down as needed.
fn sink(below: &[Vec<usize>], rows: &mut [usize], from: usize) {
    let mut open = vec![from];
    while let Some(upper) = open.pop() {
        for &lower in &below[upper] {
            if rows[lower] <= rows[upper] {
                rows[lower] = rows[upper] + 1;
                open.push(lower);
            }
        }
    }
}
