//! Small programs: what two or three clients send, on up to three rows.
//!
//! A row has a value, which every change makes anew, and a *mark*, 0 or 1, which conditions look at. Programs are written and read
//! as text, so that a failing one can be run again:
//!
//! ```text
//!   absent y: select x; update x if 0 set 1 | select x y || for-update x y; insert y; rollback
//!   ─┬──────  ──┬────────────────────────────  ─┬─────────  ─┬────────────────────────────────
//!    rows        first transaction of session a  its second   the transaction of session b
//! ```

use skew_history::{Engine, StatementKind};
use std::fmt;

/// A row, by its number.
pub type Row = u8;
/// What conditions look at.
pub type Mark = u8;
/// A row's state: its mark, or that it is not there.
pub type State = Option<Mark>;

/// The names of the rows.
const NAMES: [&str; 3] = ["x", "y", "z"];

/// What the clients send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The rows at first.
    pub rows: Vec<State>,
    /// Per session its transactions.
    pub sessions: Vec<Vec<Script>>,
}

/// One transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    pub statements: Vec<Statement>,
    pub rolls_back: bool,
}

/// One statement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Statement {
    /// A plain SELECT of rows by their keys.
    Select(Vec<Row>),
    /// A statement that locks the rows with these keys that are there and satisfy the condition, and may change them.
    Lock { rows: Vec<Row>, condition: Option<Mark>, effect: Effect },
    /// An INSERT.
    Insert { row: Row, otherwise: Otherwise },
}

/// What happens to a row that a locking statement has found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// It gets a new value and this mark.
    Set(Mark),
    /// It gets the value that it has.
    Touch,
    Delete,
    /// It is only locked; the kind says how.
    Only(StatementKind),
}

/// What an INSERT does when the key is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Otherwise {
    /// The statement fails; the transaction goes on, as with a savepoint.
    Fail,
    /// ON CONFLICT DO NOTHING, INSERT IGNORE.
    Nothing,
    /// ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE.
    Set(Mark),
}

impl Program {
    /// All transactions, session by session.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.sessions.iter().flatten()
    }

    /// Per transaction its session.
    pub fn session_of(&self) -> Vec<usize> {
        let numbered = self.sessions.iter().enumerate();
        numbered.flat_map(|(session, scripts)| vec![session; scripts.len()]).collect()
    }

    /// Whether somebody locks the key of this row without minding the rest: then the key is a key of the history of its own.
    pub fn has_key_part(&self, row: Row) -> bool {
        let mut statements = self.scripts().flat_map(|script| &script.statements);
        statements.any(|statement| is_key_share(statement.kind(Engine::Postgres)) && statement.rows().contains(&row))
    }

    /// What the text says.
    pub fn parse(text: &str) -> Program {
        let (rows, sessions) = text.split_once(':').unwrap_or(("", text));
        let mut program = Program { rows: vec![Some(0); NAMES.len()], sessions: Vec::new() };
        rows.split_whitespace().skip(1).for_each(|name| program.rows[row(name) as usize] = None);
        let session = |text: &str| text.split('|').map(Script::parse).collect();
        program.sessions = sessions.split("||").map(session).collect();
        let used = program.scripts().flat_map(|script| &script.statements).flat_map(Statement::rows).max();
        program.rows.truncate(used.map_or(1, |row| row as usize + 1));
        program
    }
}

/// Whether a statement of this kind only holds on to a row's key.
pub fn is_key_share(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::ForKeyShare | StatementKind::ForeignKey)
}

impl Script {
    fn parse(text: &str) -> Script {
        let mut texts: Vec<&str> = text.split(';').map(str::trim).collect();
        let rolls_back = texts.last() == Some(&"rollback");
        if rolls_back {
            texts.pop();
        }
        Script { statements: texts.into_iter().map(Statement::parse).collect(), rolls_back }
    }
}

impl Statement {
    /// The rows it names, in the order in which it looks at them.
    pub fn rows(&self) -> Vec<Row> {
        match self {
            Statement::Select(rows) | Statement::Lock { rows, .. } => rows.clone(),
            Statement::Insert { row, .. } => vec![*row],
        }
    }

    /// What a history calls it. MySQL's INSERT IGNORE locks as INSERT does.
    pub fn kind(&self, engine: Engine) -> StatementKind {
        match self {
            Statement::Select(_) => StatementKind::Select,
            Statement::Lock { effect: Effect::Set(_) | Effect::Touch, .. } => StatementKind::Update,
            Statement::Lock { effect: Effect::Delete, .. } => StatementKind::Delete,
            Statement::Lock { effect: Effect::Only(kind), .. } => *kind,
            Statement::Insert { otherwise: Otherwise::Fail, .. } => StatementKind::Insert,
            Statement::Insert { otherwise: Otherwise::Nothing, .. } if engine == Engine::Mysql => StatementKind::Insert,
            Statement::Insert { .. } => StatementKind::Upsert,
        }
    }

    fn parse(text: &str) -> Statement {
        let words: Vec<&str> = text.split_whitespace().collect();
        let after = |word: &str| words.iter().position(|one| *one == word).map(|at| words[at + 1].parse().unwrap());
        let rows: Vec<Row> =
            words[1..].iter().take_while(|word| !matches!(**word, "if" | "set")).map(|word| row(word)).collect();
        let lock = |effect| Statement::Lock { rows: rows.clone(), condition: after("if"), effect };
        let insert = |otherwise| Statement::Insert { row: rows[0], otherwise };
        match words[0] {
            "select" => Statement::Select(rows),
            "update" => lock(Effect::Set(after("set").unwrap_or(0))),
            "touch" => lock(Effect::Touch),
            "delete" => lock(Effect::Delete),
            "insert" => insert(Otherwise::Fail),
            "ignore" => insert(Otherwise::Nothing),
            "upsert" => insert(Otherwise::Set(after("set").unwrap_or(0))),
            kind => lock(Effect::Only(kind.parse().expect("a kind of statement"))),
        }
    }
}

fn row(name: &str) -> Row {
    NAMES.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name} is no row")) as Row
}

/// The name of a row.
pub fn name(row: Row) -> &'static str {
    NAMES[row as usize]
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absent: Vec<&str> =
            (0..).zip(&self.rows).filter(|(_, row)| row.is_none()).map(|(row, _)| name(row)).collect();
        if !absent.is_empty() {
            write!(out, "absent {}: ", absent.join(" "))?;
        }
        let session = |scripts: &Vec<Script>| scripts.iter().map(Script::to_string).collect::<Vec<_>>().join(" | ");
        write!(out, "{}", self.sessions.iter().map(session).collect::<Vec<_>>().join(" || "))
    }
}

impl fmt::Display for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = self.statements.iter().map(Statement::to_string).collect();
        texts.extend(self.rolls_back.then(|| "rollback".to_owned()));
        write!(out, "{}", texts.join("; "))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, set) = match self {
            Statement::Lock { effect: Effect::Set(mark), .. } => ("update", Some(mark)),
            Statement::Lock { effect: Effect::Touch, .. } => ("touch", None),
            Statement::Insert { otherwise: Otherwise::Nothing, .. } => ("ignore", None),
            Statement::Insert { otherwise: Otherwise::Set(mark), .. } => ("upsert", Some(mark)),
            other => (other.kind(Engine::Postgres).name(), None),
        };
        let rows: Vec<&str> = self.rows().into_iter().map(name).collect();
        write!(out, "{verb} {}", rows.join(" "))?;
        if let Statement::Lock { condition: Some(mark), .. } = self {
            write!(out, " if {mark}")?;
        }
        set.filter(|mark| **mark != 0).map_or(Ok(()), |mark| write!(out, " set {mark}"))
    }
}

#[test]
fn programs_read_back() {
    let text =
        "absent y: select x; update x if 0 set 1 | select x y || for-key-share x; ignore y; upsert y set 1; rollback";
    assert_eq!(Program::parse(text).to_string(), text);
}
