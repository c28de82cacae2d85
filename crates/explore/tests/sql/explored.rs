//! A program explored to the end at one level, and what was found.

use skew_check::Budget;
use skew_explore::{Options, Place, RunAnswer, Search, SqlOptions, SqlProgram, every_run};
use skew_history::{History, IsolationLevel, KeyId, Outcome, TransactionId, Value, Writer};
use skew_program::Program;
use skew_sql::by_place;
use skew_value::Dialect;
use std::collections::{BTreeMap, BTreeSet};

/// So many final states a run may have.
const MOST_STATES: usize = 1_000;

/// What was found.
#[derive(Default, Debug)]
pub(crate) struct Explored {
    /// The histories that the level allows, each in one line.
    pub(crate) histories: BTreeSet<String>,
    /// The same, as the recorded histories tell them.
    pub(crate) recorded: BTreeSet<String>,
    /// Complete histories before any filter.
    pub(crate) explored: u64,
    pub(crate) blocked: u64,
    /// Assertions that fail, and in how many histories.
    pub(crate) violated: BTreeMap<String, u64>,
}

/// A program in MySQL's dialect, which has REPLACE, unless it names another one.
pub(crate) fn program_of(text: &str) -> Program {
    Program::parse_in(text, by_place::EPOCH, Dialect::MySql).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Compares the exploration of a small program with every order and every writer, judged by the definitions.
pub(crate) fn equals_brute_force(text: &str, level: IsolationLevel, options: SqlOptions) {
    let found = explore(text, level, options).histories;
    let program = SqlProgram::new(program_of(text), options);
    let all = every_run(&program, Options::new(level)).expect("a program that can be explored");
    let all: BTreeSet<String> = all.into_keys().collect();
    let (lost, more): (Vec<_>, Vec<_>) = (all.difference(&found).collect(), found.difference(&all).collect());
    assert!(
        lost.is_empty() && more.is_empty(),
        "{text}\nat {level}, {options:?}\nlost: {lost:#?}\ntoo many: {more:#?}"
    );
}

/// Explores a program; a history that comes twice, or that cannot be judged, is a failure.
pub(crate) fn explore(text: &str, level: IsolationLevel, options: SqlOptions) -> Explored {
    let program = SqlProgram::new(program_of(text), options);
    let mut found = Explored::default();
    let mut search = Search::new(&program, Options::new(level)).expect("a program that can be explored");
    while let Some(run) = search.next_run().expect("nothing that is not supported") {
        match run.answer(Budget::steps(1_000_000)) {
            RunAnswer::Fails => continue,
            RunAnswer::Unknown => panic!("a history that is too hard: {}", run.pattern()),
            RunAnswer::Holds => {}
        }
        assert!(found.histories.insert(run.pattern()), "found twice: {}", run.pattern());
        found.recorded.insert(in_one_line(&run.history().expect("a history")));
        let places = program
            .program()
            .scripts()
            .iter()
            .enumerate()
            .flat_map(|(session, script)| (0..script.calls.len()).map(move |number| Place { session, number }));
        let left: Vec<_> = places.map(|place| (place, run.left(place).expect("every call ended"))).collect();
        let states = run.final_states(MOST_STATES, Budget::steps(1_000_000)).expect("few final states");
        assert!(!states.is_empty(), "no final state: {}", run.pattern());
        let mut violated = BTreeSet::new();
        for state in states {
            for failed in program.violated(left.iter().copied(), state) {
                assert_eq!(failed.error, None, "an assertion that cannot be evaluated");
                violated.insert(failed.assertion);
            }
        }
        for number in violated {
            *found.violated.entry(program.program().assertions()[number].name.clone()).or_default() += 1;
        }
    }
    (found.explored, found.blocked) = (search.progress().explored, search.progress().blocked);
    found
}

/// A history in one line: for every transaction of every session what it wrote, and whom its reads of others read from. Transactions that
/// the database refused are left out, and so are reads of own writes, and what scans saw of keys that only refused ones wrote.
pub(crate) fn in_one_line(history: &History) -> String {
    let mut names: BTreeMap<TransactionId, String> = BTreeMap::new();
    let mut lines = BTreeSet::new();
    for session in history.sessions() {
        let counted = |transaction: &TransactionId| {
            matches!(history.outcome(*transaction), Outcome::Committed | Outcome::AbortedByProgram)
        };
        for (number, transaction) in history.transactions_of(session).filter(counted).enumerate() {
            names.insert(transaction, format!("{}#{number}", history.session_name(session)));
        }
    }
    let committed = names.keys().filter(|&&transaction| history.outcome(transaction) == Outcome::Committed);
    let writes = committed.flat_map(|&transaction| history.events_of(transaction)).filter(|event| !event.is_read());
    let written: BTreeSet<KeyId> = writes.map(|event| event.key).collect();
    for (&transaction, name) in &names {
        let (mut line, mut own) = (name.clone(), BTreeSet::new());
        if history.outcome(transaction) != Outcome::Committed {
            line.push('!');
        }
        for (number, event) in history.numbered_events_of(transaction) {
            if event.scanned && history.initial(event.key) == Value::ABSENT && !written.contains(&event.key) {
                continue;
            }
            let key = history.key_name(event.key);
            if !event.is_read() {
                own.insert(event.key);
                line.push_str(&format!(" w({key})"));
            } else if !own.contains(&event.key) {
                let from = match history.claim(number) {
                    Some(Writer::Transaction(writer)) => names[&writer].clone(),
                    _ => "init".to_owned(),
                };
                let lock = if event.locking { "lock " } else { "" };
                line.push_str(&format!(" {lock}r({key},{from})"));
            }
        }
        lines.insert(line);
    }
    lines.into_iter().collect::<Vec<_>>().join("; ")
}
