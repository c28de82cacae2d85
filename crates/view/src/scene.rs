//! Who takes part, and which arrows join them.
//!
//! ```text
//!            initial state (dashed)
//!              ╎ wr x       ╎ wr x          dashed: not on the cycle, but it wrote what was read
//!              ▼            ▼
//!             t1 ── ww x ─▶ t2
//!                ◀─ rw x ──
//! ```
//!
//! A bare cycle leaves out who wrote the versions that were overwritten. Those writers are part of the minimal history; here
//! they become participants that do not take part in the story, with arrows of no case. Every drawing is made from a scene; none looks at
//! the history again.

use crate::picture::Picture;
use crate::words::{self, Versions};
use skew_check::{DependencyKind, Told};
use skew_history::{EventId, KeyId, Outcome, SessionId, Times, TransactionId, Writer};
use std::collections::BTreeMap;

/// How many transactions are drawn at most: a search that was stopped early may leave a counterexample that is not small.
const MOST_DRAWN: usize = 60;

/// How many cases are told at most, for the same reason.
const MOST_TOLD: usize = 20;

/// A counterexample, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The name of the anomaly and what it is, in a line each.
    pub title: [String; 2],
    /// The lanes, by the names of their sessions.
    pub sessions: Vec<String>,
    /// The initial state first when it takes part, then the transactions, session by session.
    pub participants: Vec<Participant>,
    /// What joins them.
    pub arrows: Vec<Arrow>,
    /// The story, case by case.
    pub cases: Vec<ToldCase>,
    /// Who forbids it.
    pub meaning: String,
    /// How many transactions are not shown, because there are too many.
    pub left_out: usize,
    /// How many cases are not told, because there are too many.
    pub untold: usize,
}

/// A transaction or the initial state.
#[derive(Clone, Debug)]
pub struct Participant {
    /// Who it is.
    pub writer: Writer,
    /// Its name and, where that is worth a word, how it ended.
    pub name: String,
    /// Its session; the initial state has none.
    pub session: Option<SessionId>,
    /// What it did, an event per line.
    pub lines: Vec<String>,
    /// Whether the story is about it; if not, it is here because it wrote what somebody read.
    pub takes_part: bool,
}

/// An arrow between two participants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// Where it begins, as an index into the participants.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What kind it is.
    pub kind: DependencyKind,
    /// The kind and the key, such as `rw x`.
    pub label: String,
    /// The cases it belongs to; none when it only shows who wrote what was read.
    pub cases: Vec<usize>,
}

/// A case in sentences.
#[derive(Clone, Debug)]
pub struct ToldCase {
    /// What is assumed, if anything.
    pub assumption: Option<String>,
    /// Its edges, a sentence each.
    pub sentences: Vec<String>,
}

impl Scene {
    /// The scene of a counterexample.
    pub fn new(mut picture: Picture<'_>) -> Scene {
        let untold = picture.cases.len().saturating_sub(MOST_TOLD);
        picture.cases = &picture.cases[..picture.cases.len() - untold];
        let versions = Versions::new(picture.history);
        let history = picture.history;
        let mut participants = Vec::new();
        participants.extend(initial_state(picture, &versions));
        let shown = shown_transactions(picture);
        participants.extend(shown.iter().map(|&(id, takes_part)| transaction(picture, &versions, id, takes_part)));
        let mut arrows = arrows_of_cases(picture, &participants);
        let restored = restored_arrows(picture, &versions, &participants, &arrows);
        arrows.extend(restored);
        Scene {
            title: title(picture),
            sessions: history.sessions().map(|id| words::clean(&history.session_name(id).to_string())).collect(),
            participants,
            arrows,
            cases: picture.cases.iter().map(|case| told_case(picture, case)).collect(),
            meaning: meaning(picture),
            left_out: history.transaction_count() - shown.len(),
            untold,
        }
    }
}

/// The transactions to draw and whether they are on the cycle. Where there are too many, those on it go first.
fn shown_transactions(picture: Picture<'_>) -> Vec<(TransactionId, bool)> {
    let takes_part = picture.taking_part();
    let all = picture.history.transactions().map(|id| (id, takes_part.binary_search(&id).is_ok()));
    if all.len() <= MOST_DRAWN {
        return all.collect();
    }
    let mut shown: Vec<(TransactionId, bool)> = all.filter(|shown| shown.1).take(MOST_DRAWN).collect();
    let others = picture.history.transactions().filter(|id| takes_part.binary_search(id).is_err());
    shown.extend(others.take(MOST_DRAWN - shown.len()).map(|id| (id, false)));
    shown.sort_unstable();
    shown
}

fn title(picture: Picture<'_>) -> [String; 2] {
    let name = words::anomaly(picture.kind);
    let name = match picture.kind.adya() {
        Some(letters) => format!("{name} ({letters})"),
        None => name,
    };
    [name, picture.kind.in_words().to_owned()]
}

fn told_case(picture: Picture<'_>, case: &skew_check::Case) -> ToldCase {
    ToldCase {
        assumption: case.assumption.as_deref().map(words::clean),
        sentences: case.edges.iter().map(|told| words::edge(picture.history, told)).collect(),
    }
}

fn meaning(picture: Picture<'_>) -> String {
    use skew_history::IsolationLevel;
    let level = picture.level;
    if level == IsolationLevel::ReadCommitted || picture.kind.is_bad_read() {
        return "no isolation level allows this".to_owned();
    }
    let stronger = IsolationLevel::all().filter(|&other| other != level && other.implies(level));
    let stronger: Vec<&str> = stronger.map(IsolationLevel::name).collect();
    match stronger.len() {
        0 | 1 if level.of_engine().is_some() => format!("no server at {level} can show this"),
        0 if level == IsolationLevel::Declared => "the levels that these transactions declare forbid this".to_owned(),
        0 => format!("{level} forbids this"),
        1 => format!("{level} forbids this, and so does {}", stronger[0]),
        _ => format!("{level} forbids this, and so do {}", words::enumeration(&stronger)),
    }
}

fn initial_state(picture: Picture<'_>, versions: &Versions) -> Option<Participant> {
    let history = picture.history;
    let reads = (0..history.event_count() as u32).map(EventId);
    let reads = reads.filter(|&event| versions.writer_of(history, event) == Some(Writer::Initial));
    let mut keys: Vec<_> = reads.map(|event| history.event(event).key).collect();
    let ends = |told: &&Told| told.from == Writer::Initial || told.to == Writer::Initial;
    let edges: Vec<&Told> = picture.edges().into_iter().filter(ends).collect();
    keys.extend(edges.iter().filter_map(|told| told.key));
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() && edges.is_empty() {
        return None;
    }
    let line = |key| format!("{} = {}", words::key(history, key), words::value(history, history.initial(key)));
    Some(Participant {
        writer: Writer::Initial,
        name: "initial state".to_owned(),
        session: None,
        lines: keys.into_iter().map(line).collect(),
        takes_part: !edges.is_empty(),
    })
}

fn transaction(picture: Picture<'_>, versions: &Versions, id: TransactionId, takes_part: bool) -> Participant {
    let history = picture.history;
    let mut lines = Vec::new();
    for number in history.event_range(id).map(EventId) {
        let initial = versions.writer_of(history, number) == Some(Writer::Initial);
        lines.push(words::event(history, number, initial));
        lines.extend(history.event_note(number).map(|members| format!("  {}", words::note(members))));
    }
    lines.extend(words::refusal(history, id));
    lines.extend(history.transaction_note(id).map(words::note));
    let times = history.times(id);
    if picture.level.is_strong() && times != Times::default() {
        lines.push(ran(times));
    }
    Participant {
        writer: Writer::Transaction(id),
        name: title_of(picture, id),
        session: Some(history.session_of(id)),
        lines,
        takes_part,
    }
}

fn title_of(picture: Picture<'_>, id: TransactionId) -> String {
    let history = picture.history;
    let mut name = words::transaction(history, id);
    if let Some(level) = history.declared_level(id).filter(|_| picture.level == skew_history::IsolationLevel::Declared)
    {
        name.push_str(&format!(" at {level}"));
    }
    if history.outcome(id) != Outcome::Committed {
        name.push_str(&format!(" ({})", words::outcome(history.outcome(id)).unwrap_or_default()));
    }
    name
}

fn ran(times: Times) -> String {
    let show = |time: Option<i64>| time.map_or("?".to_owned(), |time| time.to_string());
    format!("ran from {} to {}", show(times.begin), show(times.end))
}

fn place_of(participants: &[Participant], writer: Writer) -> Option<usize> {
    participants.iter().position(|participant| participant.writer == writer)
}

fn label(picture: Picture<'_>, kind: DependencyKind, key: Option<KeyId>) -> String {
    match key {
        Some(key) => format!("{} {}", kind.letters(), words::key(picture.history, key)),
        None => kind.letters().to_owned(),
    }
}

fn arrows_of_cases(picture: Picture<'_>, participants: &[Participant]) -> Vec<Arrow> {
    let mut arrows: Vec<Arrow> = Vec::new();
    for (case, told) in
        picture.cases.iter().enumerate().flat_map(|(case, told)| told.edges.iter().map(move |t| (case, t)))
    {
        let ends = (place_of(participants, told.from), place_of(participants, told.to));
        let (Some(from), Some(to)) = ends else { continue };
        let arrow = Arrow { from, to, kind: told.kind, label: label(picture, told.kind, told.key), cases: vec![case] };
        match arrows.iter_mut().find(|known| (known.from, known.to, &known.label) == (from, to, &arrow.label)) {
            Some(known) if known.cases.contains(&case) => {}
            Some(known) => known.cases.push(case),
            None => arrows.push(arrow),
        }
    }
    arrows
}

/// Who wrote what was read, where no edge tells it; one arrow for all keys between two participants.
fn restored_arrows(
    picture: Picture<'_>,
    versions: &Versions,
    participants: &[Participant],
    told: &[Arrow],
) -> Vec<Arrow> {
    let history = picture.history;
    let mut keys: BTreeMap<(usize, usize), Vec<KeyId>> = BTreeMap::new();
    for event in (0..history.event_count() as u32).map(EventId) {
        let Some(writer) = versions.writer_of(history, event) else { continue };
        let reader = Writer::Transaction(history.transaction_of(event));
        let (Some(from), Some(to)) = (place_of(participants, writer), place_of(participants, reader)) else { continue };
        if from != to {
            let key = history.event(event).key;
            let label = label(picture, DependencyKind::ReadsFrom, Some(key));
            let known = |arrow: &Arrow| (arrow.from, arrow.to, &arrow.label) == (from, to, &label);
            let keys = keys.entry((from, to)).or_default();
            if !told.iter().any(known) && !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let arrow = |((from, to), keys): ((usize, usize), Vec<KeyId>)| {
        let keys: Vec<String> = keys.into_iter().map(|key| words::key(history, key)).collect();
        let kind = DependencyKind::ReadsFrom;
        Arrow { from, to, kind, label: format!("{} {}", kind.letters(), keys.join(", ")), cases: Vec::new() }
    };
    keys.into_iter().filter(|(_, keys)| !keys.is_empty()).map(arrow).collect()
}
