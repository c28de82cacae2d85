//! Programs in one line: `r(y) r(x); w(x); r(x) w(y) | w(x)`, a session per `;`, a transaction per `|`.
//!
//! ```text
//!   r(x)  lock r(x)  w(x)  del(x)  scan      every write writes something new
//!   abort                                    always
//!   if                                       the rest only if what was read last came from where the program says: an even value
//!   @rc                                      the level of the transaction
//! ```

use skew_explore::{
    Explorable, ExploreError, Interrupt, IsolationLevel, Options, Place, Requests, Search, TransactionEnd, every_run,
};
use skew_sql::{KeyPart, KeyRange, Row, RowKey, SpaceId};
use skew_value::Datum;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Op {
    Read(String, bool),
    Write(String),
    Delete(String),
    Scan(KeyRange),
    Abort,
    If,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) sessions: Vec<Vec<(Vec<Op>, Option<IsolationLevel>)>>,
    /// Keys that are there before everything; in programs with scans others are not.
    pub(crate) initial: Vec<String>,
}

pub(crate) const SPACE: SpaceId = SpaceId(7);

pub(crate) fn key(name: &str) -> RowKey {
    let part = |text: &str| match text.parse::<i128>() {
        Ok(number) => KeyPart::Number(number),
        Err(_) => KeyPart::Text(text.into()),
    };
    RowKey { space: SPACE, parts: name.split('/').map(part).collect() }
}

impl Script {
    pub(crate) fn parse(text: &str) -> Script {
        let transaction = |text: &str| {
            let mut words = text.split_whitespace().peekable();
            let (mut ops, mut level) = (Vec::new(), None);
            while let Some(word) = words.next() {
                let argument = |word: &str| word[word.find('(').unwrap() + 1..word.len() - 1].to_owned();
                match word {
                    "lock" => ops.push(Op::Read(argument(words.next().unwrap()), true)),
                    "scan" => ops.push(Op::Scan(KeyRange::of_prefix(SPACE, Vec::new()))),
                    "abort" => ops.push(Op::Abort),
                    "if" => ops.push(Op::If),
                    word if word.starts_with("r(") => ops.push(Op::Read(argument(word), false)),
                    word if word.starts_with("w(") => ops.push(Op::Write(argument(word))),
                    word if word.starts_with("del(") => ops.push(Op::Delete(argument(word))),
                    word => level = Some(word.strip_prefix('@').expect(word).parse().unwrap()),
                }
            }
            (ops, level)
        };
        let sessions = text.split(';').map(|session| session.split('|').map(transaction).collect()).collect();
        let mut script = Script { sessions, initial: Vec::new() };
        let keys: BTreeSet<String> = script.ops().filter_map(Op::key).collect();
        if !script.ops().any(|op| matches!(op, Op::Scan(_))) {
            script.initial = keys.into_iter().collect();
        }
        script
    }

    pub(crate) fn ops(&self) -> impl Iterator<Item = &Op> {
        self.sessions.iter().flatten().flat_map(|transaction| &transaction.0)
    }
}

impl Op {
    fn key(&self) -> Option<String> {
        match self {
            Op::Read(key, _) | Op::Write(key) | Op::Delete(key) => Some(key.clone()),
            _ => None,
        }
    }
}

impl Explorable for Script {
    type Left = i128;

    fn session_count(&self) -> usize {
        self.sessions.len()
    }

    fn session_name(&self, session: usize) -> String {
        ((b'a' + session as u8) as char).to_string()
    }

    fn transaction_count(&self, session: usize) -> usize {
        self.sessions[session].len()
    }

    fn level(&self, place: Place) -> Option<IsolationLevel> {
        self.sessions[place.session][place.number].1
    }

    fn initial(&self) -> Vec<(RowKey, Row)> {
        self.initial.iter().map(|name| (key(name), Row::from([Datum::Integer(0)]))).collect()
    }

    fn run(
        &self,
        place: Place,
        before: Option<&i128>,
        requests: &mut Requests<'_>,
    ) -> Result<TransactionEnd<i128>, Interrupt> {
        let mut last = before.copied().unwrap_or_default();
        let value = |row: &Option<Row>| match row.as_deref() {
            Some([Datum::Integer(number)]) => *number,
            _ => 1,
        };
        for (number, op) in self.sessions[place.session][place.number].0.iter().enumerate() {
            match op {
                Op::Read(name, locking) => last = value(&requests.read(&key(name), *locking)?),
                Op::Write(name) => {
                    let new = (place.session * 100 + place.number * 10 + number + 1) as i128;
                    requests.write(&key(name), Some(Row::from([Datum::Integer(new)])))?;
                }
                Op::Delete(name) => requests.write(&key(name), None)?,
                Op::Scan(range) => {
                    let rows = requests.scan(range, false)?;
                    last = rows.rows.iter().map(|(_, row)| value(&Some(row.clone()))).sum();
                }
                Op::Abort => return Ok(TransactionEnd { commits: false, left: last }),
                Op::If if last % 2 != 0 => break,
                Op::If => {}
            }
        }
        Ok(TransactionEnd { commits: true, left: last })
    }

    fn key_name(&self, key: &RowKey) -> String {
        key.parts.iter().map(KeyPart::to_string).collect::<Vec<String>>().join("/")
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Patterns of the runs that satisfy their levels.
    pub(crate) runs: Vec<String>,
    pub(crate) explored: u64,
    pub(crate) blocked: u64,
}

pub(crate) fn search<P: Explorable + ?Sized>(program: &P, options: Options) -> Result<Found, ExploreError> {
    let mut search = Search::new(program, options)?;
    let mut found = Found::default();
    while let Some(run) = search.next_run()? {
        match run.answer(skew_check::Budget::UNLIMITED) {
            skew_explore::RunAnswer::Holds => found.runs.push(run.pattern()),
            skew_explore::RunAnswer::Fails => {}
            skew_explore::RunAnswer::Unknown => panic!("no limit, and no answer for {}", run.pattern()),
        }
    }
    let progress = search.progress();
    assert!((progress.share - 1.0).abs() < 1e-6, "the shares of all runs are the whole: {}", progress.share);
    (found.explored, found.blocked) = (progress.explored, progress.blocked);
    Ok(found)
}

pub(crate) fn count(text: &str, level: IsolationLevel) -> usize {
    search(&Script::parse(text), Options::new(level)).unwrap().runs.len()
}

/// The search and the oracle agree, nothing comes twice; whether anything was blocked is for the caller.
pub(crate) fn compare(program: &Script, options: Options) -> Found {
    let found = search(program, options).unwrap();
    let set: BTreeSet<&String> = found.runs.iter().collect();
    let words = || format!("{program:?} at {options:?}");
    assert_eq!(set.len(), found.runs.len(), "some run comes twice: {}", words());
    let all = every_run(program, options).unwrap();
    let all: BTreeSet<&String> = all.keys().collect();
    let missing: Vec<_> = all.difference(&set).collect();
    let wrong: Vec<_> = set.difference(&all).collect();
    assert!(missing.is_empty() && wrong.is_empty(), "missing {missing:#?}\nwrong {wrong:#?}\n{}", words());
    found
}
