//! A run as several people type it: the statements of every session with what they are answered, in the order in which they are sent.
//!
//! ```text
//!   beats of a run ── the statements that its calls said ──> Typed ──> terminals side by side
//!                                                              └────> a screenplay, for a real server
//! ```

use skew_explore::{Beat, BeatKind, Place};
use skew_history::Engine;
use skew_program::{Heard, Spoken, TextRows};
use skew_value::Place as TextPlace;
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
    /// Where it stands in the file; nothing for what begins and ends a transaction.
    pub(crate) place: Option<TextPlace>,
}

/// Something that happens in a terminal.
pub(crate) enum TypedMoment {
    /// This statement is sent, by its number.
    Sent(usize),
    /// This is told of it: that it waits, or what comes back.
    Told(usize, String),
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

    /// Transactions as a whole, one after the other: the session of each, and what it said, from BEGIN to its end.
    pub(crate) fn whole(sessions: Vec<String>, transactions: &[(usize, &[Spoken])]) -> Typed {
        let mut typed = Typed { engine: Engine::Postgres, sessions, statements: Vec::new(), happenings: Vec::new() };
        for (session, spoken) in transactions {
            let last = spoken.len().saturating_sub(1);
            for (number, one) in spoken.iter().enumerate().skip(1) {
                let (sql, heard, place) = (one.text.clone(), one.heard.clone(), (number < last).then_some(one.place));
                typed.happenings.push((typed.statements.len(), TypedKind::Sent));
                typed.happenings.push((typed.statements.len(), TypedKind::Answered));
                typed.statements.push(TypedStatement { session: *session, sql, heard, place });
            }
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
                self.statements.push(TypedStatement { session, sql: sql.clone(), heard: Heard::Done, place: None });
                self.happenings.push((self.statements.len() - 1, TypedKind::Sent));
            }
        }
        let spoken = &call.spoken[number];
        let place = *known.entry((beat.place, number)).or_insert(self.statements.len());
        if place == self.statements.len() {
            let (sql, heard) = (spoken.text.clone(), spoken.heard.clone());
            let place = beat.statement.map(|_| spoken.place);
            self.statements.push(TypedStatement { session, sql, heard, place });
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
        let line = |moment: TypedMoment| match moment {
            TypedMoment::Sent(number) => {
                let TypedStatement { session, sql, .. } = &self.statements[number];
                TerminalLine { column: *session, text: TerminalText::Typed(sql.clone()) }
            }
            TypedMoment::Told(number, words) => {
                TerminalLine { column: self.statements[number].session, text: TerminalText::Remark(words) }
            }
        };
        let lines: Vec<TerminalLine> = self.moments().into_iter().map(line).collect();
        terminals(&self.sessions, &lines, palette)
    }

    /// Everything that happens, in its order.
    pub(crate) fn moments(&self) -> Vec<TypedMoment> {
        let mut moments = Vec::new();
        let mut waiting = vec![false; self.statements.len()];
        for (place, kind) in &self.happenings {
            moments.extend(match kind {
                TypedKind::Sent => Some(TypedMoment::Sent(*place)),
                TypedKind::Waits(whom) => {
                    waiting[*place] = true;
                    let names: Vec<&str> = whom.iter().map(|it| self.sessions[*it].as_str()).collect();
                    let words = match names.is_empty() {
                        true => "is slow".to_owned(),
                        false => format!("waits for {}", enumeration(&names)),
                    };
                    Some(TypedMoment::Told(*place, words))
                }
                TypedKind::Answered => {
                    let words = self.answer(&self.statements[*place].heard, waiting[*place]);
                    words.map(|words| TypedMoment::Told(*place, words))
                }
            });
        }
        moments
    }

    /// The place of a statement among all: a session, and which of its statements that do not begin a transaction.
    fn numbered(&self, (session, number): (usize, usize)) -> Option<usize> {
        let own = |place: &usize| self.statements[*place].session == session;
        let opening = |place: &usize| {
            self.statements[*place].place.is_none() && (place + 1..self.statements.len()).any(|later| own(&later))
        };
        (0..self.statements.len()).filter(own).filter(|place| !opening(place)).nth(number)
    }

    /// Lets a statement be sent before another one, for whose session it then waits; each is a session, and which of its statements that do not
    /// begin a transaction. What begins the transaction comes with its first statement.
    pub(crate) fn send_earlier(&mut self, one: (usize, usize), other: (usize, usize)) {
        let (Some(from), Some(to)) = (self.numbered(one), self.numbered(other)) else { return };
        if from <= to {
            return;
        }
        let is_first = one.1 == 0;
        let moves = |place: &usize| {
            *place == from || (is_first && (to..from).contains(place) && self.statements[*place].session == one.0)
        };
        let moved: Vec<usize> = (0..self.statements.len()).filter(moves).collect();
        let rest = |range: std::ops::Range<usize>| range.filter(|place| !moved.contains(place));
        let order: Vec<usize> =
            rest(0..to).chain(moved.iter().copied()).chain(rest(to..self.statements.len())).collect();
        let new = |old: usize| order.iter().position(|place| *place == old).unwrap_or(old);
        let is_moved = |(place, kind): &(usize, TypedKind)| moved.contains(place) && *kind == TypedKind::Sent;
        let mut happenings: Vec<(usize, TypedKind)> = self.happenings.iter().filter(|one| !is_moved(one)).cloned().collect();
        let at = happenings.iter().position(|(place, kind)| *place == to && *kind == TypedKind::Sent).unwrap_or(0);
        let mut sent: Vec<(usize, TypedKind)> = moved.iter().map(|place| (*place, TypedKind::Sent)).collect();
        sent.push((from, TypedKind::Waits(vec![self.statements[to].session])));
        happenings.splice(at..at, sent);
        self.happenings = happenings.into_iter().map(|(place, kind)| (new(place), kind)).collect();
        self.statements = order.iter().map(|place| self.statements[*place].clone()).collect();
    }

    /// Whether some statement waits for another session.
    pub(crate) fn waits(&self) -> bool {
        self.happenings.iter().any(|(_, kind)| matches!(kind, TypedKind::Waits(whom) if !whom.is_empty()))
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
