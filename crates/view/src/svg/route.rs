//! How the arrows run.
//!
//! ```text
//!   neighbours in a row          neighbouring rows            the rest
//!   ┌────┐ ────▶ ┌────┐          ┌────┐                       the first of several curves
//!   └────┘ ◀──── └────┘          └─┬──┘                       that crosses no box; else the
//!                                  ╰──╮                       straightest, behind the boxes
//!                                  ┌──▼─┐
//! ```
//!
//! All arrows that leave or reach one side of a box share it evenly, in the order of where they go, so that they do not cross
//! needlessly. A label sits on its arrow at the first place where it covers neither a box nor another label.

use super::layout::{Area, LETTER, SceneLayout};
use crate::scene::Scene;

/// A cubic Bézier curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub(super) points: [(f64, f64); 4],
}

impl Curve {
    fn at(&self, t: f64) -> (f64, f64) {
        let [a, b, c, d] = self.points;
        let s = 1.0 - t;
        let mix =
            |a: f64, b: f64, c: f64, d: f64| s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d;
        (mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1))
    }

    /// How much of the curve lies in boxes, apart from its ends.
    fn hidden(&self, boxes: &[Area]) -> usize {
        let samples = (2..39).map(|step| self.at(f64::from(step) / 40.0));
        let inside = |&(x, y): &(f64, f64)| {
            let point = Area { x: x - 3.0, y: y - 3.0, width: 6.0, height: 6.0 };
            boxes.iter().any(|area| area.overlaps(&point))
        };
        samples.filter(inside).count()
    }
}

/// An arrow with its place.
pub(super) struct Route {
    pub(super) curve: Curve,
    /// The middle of the label.
    pub(super) label: (f64, f64),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

/// The routes of all arrows, in their order; arrows from a box to itself have none.
pub(super) fn routes(scene: &Scene, layout: &SceneLayout) -> Vec<Option<Route>> {
    let sides: Vec<Option<(Side, Side)>> =
        scene.arrows.iter().map(|arrow| sides(layout, arrow.from, arrow.to)).collect();
    let mut labels: Vec<Area> = Vec::new();
    let mut routes = Vec::new();
    for (number, arrow) in scene.arrows.iter().enumerate() {
        let route = sides[number].map(|(leave, reach)| {
            let start = port(scene, layout, &sides, arrow.from, leave, number);
            let end = port(scene, layout, &sides, arrow.to, reach, number);
            let curve = bend(start, leave, end, reach);
            let label = place_label(&curve, arrow.label.chars().count(), layout, &mut labels);
            Route { curve, label }
        });
        routes.push(route);
    }
    routes
}

/// The sides where an arrow leaves and arrives: the pair whose curve is hidden least, the most natural first.
fn sides(layout: &SceneLayout, from: usize, to: usize) -> Option<(Side, Side)> {
    use Side::*;
    if from == to {
        return None;
    }
    let (a, b) = (layout.boxes[from], layout.boxes[to]);
    let rightwards = a.centre().0 < b.centre().0;
    let along = if rightwards { (Right, Left) } else { (Left, Right) };
    let same_column = (a.centre().0 - b.centre().0).abs() < 1.0;
    let candidates = match layout.rows[from].cmp(&layout.rows[to]) {
        std::cmp::Ordering::Equal => [along, (Bottom, Bottom), (Top, Top), along],
        std::cmp::Ordering::Less if same_column => [(Bottom, Top), (Right, Right), (Left, Left), (Bottom, Top)],
        std::cmp::Ordering::Less => {
            [(Bottom, Top), along, (if rightwards { Right } else { Left }, Top), (Right, Right)]
        }
        std::cmp::Ordering::Greater if same_column => [(Top, Bottom), (Right, Right), (Left, Left), (Top, Bottom)],
        std::cmp::Ordering::Greater => {
            [(Top, Bottom), along, (Top, if rightwards { Left } else { Right }), (Right, Right)]
        }
    };
    let hidden = |&(leave, reach): &(Side, Side)| {
        bend(middle_of(a, leave), leave, middle_of(b, reach), reach).hidden(&layout.boxes)
    };
    candidates.into_iter().min_by_key(hidden)
}

fn middle_of(area: Area, side: Side) -> (f64, f64) {
    on_side(area, side, 0.5)
}

fn on_side(area: Area, side: Side, share: f64) -> (f64, f64) {
    match side {
        Side::Left => (area.x, area.y + area.height * share),
        Side::Right => (area.x + area.width, area.y + area.height * share),
        Side::Top => (area.x + area.width * share, area.y),
        Side::Bottom => (area.x + area.width * share, area.y + area.height),
    }
}

/// Where arrow `number` touches a side that it may share with others.
fn port(
    scene: &Scene,
    layout: &SceneLayout,
    sides: &[Option<(Side, Side)>],
    owner: usize,
    side: Side,
    number: usize,
) -> (f64, f64) {
    let mut sharing: Vec<(f64, usize)> = Vec::new();
    for (other, arrow) in scene.arrows.iter().enumerate() {
        let Some((leave, reach)) = sides[other] else { continue };
        let far = match () {
            () if arrow.from == owner && leave == side => arrow.to,
            () if arrow.to == owner && reach == side => arrow.from,
            () => continue,
        };
        let (x, y) = layout.boxes[far].centre();
        sharing.push((if matches!(side, Side::Left | Side::Right) { y } else { x }, other));
    }
    sharing.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let place = sharing.iter().position(|&(_, other)| other == number).unwrap_or(0);
    on_side(layout.boxes[owner], side, (place + 1) as f64 / (sharing.len() + 1) as f64)
}

/// A curve that leaves and arrives at right angles to the sides.
fn bend(start: (f64, f64), leave: Side, end: (f64, f64), reach: Side) -> Curve {
    let (across, down) = ((end.0 - start.0).abs(), (end.1 - start.1).abs());
    let vertical = matches!(leave, Side::Top | Side::Bottom);
    let pull = match leave == reach {
        true => ((across + down) * 0.3).clamp(46.0, 80.0),
        false if vertical => (down * 0.75).clamp(30.0, 160.0),
        false => (across * 0.5).clamp(30.0, 160.0),
    };
    let away = |(x, y): (f64, f64), side: Side| match side {
        Side::Left => (x - pull, y),
        Side::Right => (x + pull, y),
        Side::Top => (x, y - pull),
        Side::Bottom => (x, y + pull),
    };
    Curve { points: [start, away(start, leave), away(end, reach), end] }
}

fn place_label(curve: &Curve, letters: usize, layout: &SceneLayout, labels: &mut Vec<Area>) -> (f64, f64) {
    // Some air on both sides, or two labels in a row would read as one.
    let width = letters as f64 * LETTER + 26.0;
    let area = |t: f64| {
        let (x, y) = curve.at(t);
        Area { x: x - width / 2.0, y: y - 9.0, width, height: 18.0 }
    };
    let free = |area: &Area| !labels.iter().chain(&layout.boxes).any(|other| other.overlaps(area));
    let tries = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82].map(area);
    let chosen = tries.into_iter().find(free).unwrap_or(tries[0]);
    labels.push(chosen);
    chosen.centre()
}
