//! A run as several people type it: the statements of every session with what they are answered, in the order in which they are sent.
//!
//! ```text
//!   beats of a run ── the statements that its calls said ──> Typed ──> terminals side by side
//!                                                              └────> a screenplay, for a real server
//! ```

use skew_explore::{Beat, BeatKind, Place};
use skew_history::Engine;
use skew_program::{Heard, Spoken, TextRows};
use skew_view::Palette;
use skew_view::terminals::{TerminalLine, TerminalText, terminals};
use skew_view::words::enumeration;
use std::collections::BTreeMap;

/// So many rows are shown of an answer.
const MOST_ROWS: usize = 6;

/// A run as several people type it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Typed {
    /// Whose server it is.
    pub(crate) engine: Engine,
    /// The names of the sessions that take part.
    pub(crate) sessions: Vec<String>,
    /// Their statements, in the order in which they are sent.
    pub(crate) statements: Vec<TypedStatement>,
    /// What happens to them, by their places.
    happenings: Vec<(usize, TypedKind)>,
}

/// A statement of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TypedStatement {
    /// Whose it is: a place among the sessions.
    pub(crate) session: usize,
    /// Its text.
    pub(crate) sql: String,
    /// What it is answered.
    pub(crate) heard: Heard,
}

/// What happens to a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
enum TypedKind {
    Sent,
    /// It waits for these sessions.
    Waits(Vec<usize>),
    Answered,
}

/// A transaction of a run, to be typed.
pub(crate) struct TypedCall<'a> {
    /// The name of its session.
    pub(crate) session: String,
    /// What begins it.
    pub(crate) opening: Vec<String>,
    /// What it said, from BEGIN to its end.
    pub(crate) spoken: &'a [Spoken],
}

impl Typed {
    /// Puts together who sends what, and when.
    pub(crate) fn new(engine: Engine, beats: &[Beat], calls: &BTreeMap<Place, TypedCall<'_>>) -> Typed {
        let mut typed = Typed { engine, sessions: Vec::new(), statements: Vec::new(), happenings: Vec::new() };
        for call in calls.values() {
            if !typed.sessions.contains(&call.session) {
                typed.sessions.push(call.session.clone());
            }
        }
        let mut known: BTreeMap<(Place, usize), usize> = BTreeMap::new();
        for beat in beats {
            let Some(call) = calls.get(&beat.place) else { continue };
            typed.add(beat, call, calls, &mut known);
        }
        typed
    }

    fn add(
        &mut self,
        beat: &Beat,
        call: &TypedCall<'_>,
        calls: &BTreeMap<Place, TypedCall<'_>>,
        known: &mut BTreeMap<(Place, usize), usize>,
    ) {
        let Some(last) = call.spoken.len().checked_sub(1) else { return };
        // BEGIN is the first of what was said, and the end the last; what is checked at the commit is no statement.
        let number = beat.statement.map_or(last, |statement| statement + 1);
        if beat.statement.is_some() && number >= last {
            return;
        }
        let Some(session) = self.session(&call.session) else { return };
        let is_new = beat.kind == BeatKind::Sent && !known.contains_key(&(beat.place, 0));
        if is_new {
            known.insert((beat.place, 0), self.statements.len());
            for sql in &call.opening {
                self.statements.push(TypedStatement { session, sql: sql.clone(), heard: Heard::Done });
                self.happenings.push((self.statements.len() - 1, TypedKind::Sent));
            }
        }
        let spoken = &call.spoken[number];
        let place = *known.entry((beat.place, number)).or_insert(self.statements.len());
        if place == self.statements.len() {
            let (sql, heard) = (spoken.text.clone(), spoken.heard.clone());
            self.statements.push(TypedStatement { session, sql, heard });
        }
        let kind = match &beat.kind {
            BeatKind::Sent => TypedKind::Sent,
            BeatKind::Answered => TypedKind::Answered,
            BeatKind::Waits(whom) => {
                let names = whom.iter().filter_map(|place| calls.get(place)).map(|call| &call.session);
                TypedKind::Waits(names.filter_map(|name| self.session(name)).collect())
            }
        };
        self.happenings.push((place, kind));
    }

    fn session(&self, name: &str) -> Option<usize> {
        self.sessions.iter().position(|session| session == name)
    }

    /// The terminals side by side.
    pub(crate) fn shown(&self, palette: Palette) -> String {
        let mut lines = Vec::new();
        let mut waiting = vec![false; self.statements.len()];
        for (place, kind) in &self.happenings {
            let statement = &self.statements[*place];
            let text = match kind {
                TypedKind::Sent => TerminalText::Typed(statement.sql.clone()),
                TypedKind::Waits(whom) => {
                    waiting[*place] = true;
                    let names: Vec<&str> = whom.iter().map(|it| self.sessions[*it].as_str()).collect();
                    TerminalText::Remark(match names.is_empty() {
                        true => "is slow".to_owned(),
                        false => format!("waits for {}", enumeration(&names)),
                    })
                }
                TypedKind::Answered => match self.answer(&statement.heard, waiting[*place]) {
                    Some(words) => TerminalText::Remark(words),
                    None => continue,
                },
            };
            lines.push(TerminalLine { column: statement.session, text });
        }
        terminals(&self.sessions, &lines, palette)
    }

    /// What comes back, where that is worth a line.
    fn answer(&self, heard: &Heard, has_waited: bool) -> Option<String> {
        let goes_on = if has_waited { "goes on: " } else { "" };
        match heard {
            Heard::Done => has_waited.then(|| "goes on".to_owned()),
            Heard::Failed { message, .. } => {
                Some(format!("refused: {message} ({})", self.codes(heard).first().copied().unwrap_or("?")))
            }
            heard => Some(format!("{goes_on}{}", words(heard))),
        }
    }

    /// The codes with which a server may tell an error; none for no error, and where every code will do.
    pub(crate) fn codes<'heard>(&self, heard: &'heard Heard) -> Vec<&'heard str> {
        let Heard::Failed { state, .. } = heard else { return Vec::new() };
        match (self.engine, state.as_str()) {
            (Engine::Postgres, state) => vec![state],
            (Engine::Mysql, "40001") => vec!["1213"],
            (Engine::Mysql, "HY000") => vec!["1020"],
            (Engine::Mysql, "23505") => vec!["1062"],
            (Engine::Mysql, "23503") => vec!["1452", "1451"],
            (Engine::Mysql, "23502") => vec!["1048", "1364"],
            (Engine::Mysql, "23514") => vec!["4025", "3819"],
            (Engine::Mysql, _) => Vec::new(),
        }
    }
}

/// An answer in short: `100`, `1 a, 2 b`, `no row`, `3 rows`.
pub(crate) fn words(heard: &Heard) -> String {
    match heard {
        Heard::Rows(rows) | Heard::Changed(_, rows) if !rows.is_empty() => rows_words(rows),
        Heard::Rows(_) => "no row".to_owned(),
        Heard::Changed(0, _) => "no row".to_owned(),
        Heard::Changed(1, _) => "1 row".to_owned(),
        Heard::Changed(count, _) => format!("{count} rows"),
        Heard::Done => "done".to_owned(),
        Heard::Failed { state, message } => format!("refused: {message} ({state})"),
    }
}

/// The values of rows, or how many there are.
pub(crate) fn rows_words(rows: &TextRows) -> String {
    if rows.len() > MOST_ROWS {
        return format!("{} rows", rows.len());
    }
    let row = |row: &Vec<Option<String>>| {
        row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<&str>>().join(" ")
    };
    rows.iter().map(row).collect::<Vec<String>>().join(", ")
}
