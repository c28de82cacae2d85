//! Programs that run only as a whole: run by run the same histories as transaction by transaction, each once.

use crate::random_programs::{Features, Random, program};
use crate::script::{Op, Script, key, search};
use skew_check::Budget;
use skew_explore::{
    Explorable, ExploreError, IsolationLevel, Options, Path, PathError, Remote, RemoteSearch, RunAnswer, Search,
};
use skew_sql::{Row, RowKey};
use skew_value::Datum;
use std::collections::{BTreeMap, BTreeSet};

/// A script that is run from its beginning to its end, whole transactions in the order that the path says.
struct Whole<'s> {
    script: &'s Script,
    /// Whether it looks at the state in the end.
    looks: bool,
    runs: usize,
    /// What goes wrong in the runs after the first.
    mischief: Option<Mischief>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mischief {
    OtherInitial,
    OtherWrite,
    NoLastTransaction,
    NeverFirst,
    /// The first session comes when others have begun.
    Late,
}

impl Whole<'_> {
    fn new(script: &Script) -> Whole<'_> {
        Whole { script, looks: false, runs: 0, mischief: None }
    }

    fn makes(&self, mischief: Mischief) -> bool {
        self.runs > 1 && self.mischief == Some(mischief)
    }

    fn all(&self, path: &mut Path) -> Result<String, PathError> {
        let value = i128::from(self.makes(Mischief::OtherInitial));
        let initial = |name: &String| (key(name), name.clone(), Row::from([Datum::Integer(value)]));
        path.initial(self.script.initial.iter().map(initial).collect())?;
        let mut next = vec![0; self.script.sessions.len()];
        let mut last = vec![0; next.len()];
        loop {
            let missing = usize::from(self.makes(Mischief::NoLastTransaction));
            let open = |session: &usize| next[*session] + missing < self.script.sessions[*session].len();
            let mut ready = (0..next.len()).filter(open);
            let session = match path.next_session() {
                Some(name) => ready.find(|&session| self.script.session_name(session) == name),
                None if self.mischief == Some(Mischief::Late) => ready.next_back(),
                None => ready.next(),
            };
            let Some(session) = session else { break };
            if self.makes(Mischief::NeverFirst) && session == 1 && path.next_session() == Some("b") {
                path.skip();
            }
            self.transaction(path, session, next[session], &mut last[session])?;
            next[session] += 1;
        }
        if !self.looks {
            return Ok(String::new());
        }
        let state = path.finish()?;
        Ok(state.iter().map(|(key, row)| format!("{}={row:?} ", self.script.key_name(key))).collect())
    }

    fn transaction(&self, path: &mut Path, session: usize, number: usize, last: &mut i128) -> Result<(), PathError> {
        let (ops, level) = &self.script.sessions[session][number];
        path.begin(&self.script.session_name(session), *level)?;
        let value = |row: &Option<Row>| match row.as_deref() {
            Some([Datum::Integer(number)]) => *number,
            _ => 1,
        };
        for (place, op) in ops.iter().enumerate() {
            path.begin_statement();
            match op {
                Op::Read(name, locking) => *last = value(&path.read(&key(name), name, *locking)?),
                Op::Write(name) => {
                    let new = (session * 100 + number * 10 + place + 1) as i128;
                    let new = new + i128::from(self.makes(Mischief::OtherWrite)) * 1_000;
                    path.write(&key(name), name, Some(Row::from([Datum::Integer(new)])))?;
                }
                Op::Delete(name) => path.write(&key(name), name, None)?,
                Op::Scan(range) => {
                    let rows: Vec<(RowKey, Row)> = path.scan(range, false)?;
                    *last = rows.iter().map(|(_, row)| value(&Some(row.clone()))).sum();
                }
                Op::Abort => return path.end(false),
                Op::If if *last % 2 != 0 => break,
                Op::If => {}
            }
        }
        path.end(true)
    }
}

impl Remote for Whole<'_> {
    type Ended = String;
    type Error = ExploreError;

    fn run(&mut self, mut path: Path) -> Result<(Path, String), ExploreError> {
        self.runs += 1;
        // Why there is no answer is in the path, too.
        let ended = self.all(&mut path).unwrap_or_default();
        Ok((path, ended))
    }
}

/// A pattern whatever the order in which its transactions were met, and without reads of own writes, which a path does not tell.
fn sorted(pattern: &str) -> String {
    let foreign = |transaction: &str| {
        let mut told = transaction.to_owned();
        while let Some(end) = told.find(" own)") {
            let start = told[..end].rfind(" r(").unwrap();
            told.replace_range(start..end + " own)".len(), "");
        }
        told
    };
    let mut transactions: Vec<String> = pattern.split("; ").map(foreign).collect();
    transactions.sort_unstable();
    transactions.join("; ")
}

/// All runs within the level, with what they saw in the end.
fn explore(script: &Script, options: Options, looks: bool) -> (Vec<(String, String)>, RemoteSearch) {
    let mut remote = Whole { looks, ..Whole::new(script) };
    let mut search = RemoteSearch::new(options);
    let mut found = Vec::new();
    while let Some(run) = search.next_run(&mut remote).unwrap() {
        let (pattern, answer) = search.look(&run, |run| (run.pattern(), run.answer(Budget::UNLIMITED)));
        if answer == RunAnswer::Holds {
            found.push((sorted(&pattern), run.ended));
        }
    }
    let progress = search.progress();
    assert!((progress.share - 1.0).abs() < 1e-6, "the shares of all runs are the whole: {}", progress.share);
    assert_eq!(remote.runs as u64, progress.explored + progress.blocked, "{script:?}");
    (found, search)
}

fn compare(script: &Script, options: Options) {
    let (found, remote) = explore(script, options, false);
    let set: BTreeSet<String> = found.iter().map(|run| run.0.clone()).collect();
    assert_eq!(set.len(), found.len(), "some run comes twice: {script:?} at {options:?}");
    let expected = search(script, options).unwrap();
    let all: BTreeSet<String> = expected.runs.iter().map(|pattern| sorted(pattern)).collect();
    assert_eq!(set, all, "{script:?} at {options:?}");
    assert_eq!((remote.progress().explored, remote.progress().blocked), (expected.explored, expected.blocked));
}

#[test]
fn random_programs_have_the_same_runs_as_a_whole() {
    for seed in 0..600 {
        let features = Features { scans: seed % 3 == 0, locks: seed % 5 == 0, mixed: seed % 4 == 0 };
        let program = program(&mut Random::new(5_000 + seed), features);
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::Causal, IsolationLevel::Serializable] {
            compare(&program, Options::new(level));
        }
    }
}

#[test]
fn every_final_state_of_every_run_is_seen_once() {
    let mut several = 0;
    for seed in 0..150 {
        let features = Features { scans: seed % 3 == 0, ..Features::default() };
        let program = program(&mut Random::new(9_000 + seed), features);
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::Snapshot] {
            let options = Options::new(level);
            let (found, _) = explore(&program, options, true);
            let set: BTreeSet<_> = found.iter().cloned().collect();
            assert_eq!(set.len(), found.len(), "{program:?}");
            let mut expected = BTreeMap::new();
            let mut search = Search::new(&program, options).unwrap();
            while let Some(run) = search.next_run().unwrap() {
                if run.answer(Budget::UNLIMITED) == RunAnswer::Holds {
                    let states = run.final_states(1_000, Budget::UNLIMITED).unwrap();
                    expected.insert(sorted(&run.pattern()), states.len());
                }
            }
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            set.iter().for_each(|(pattern, _)| *counts.entry(pattern.clone()).or_default() += 1);
            several += counts.values().filter(|&&count| count > 1).count();
            assert_eq!(counts, expected, "{program:?} at {level}");
        }
    }
    assert!(several > 50, "some histories end in more than one way: {several}");
}

#[test]
fn every_run_that_is_written_down_is_made_again() {
    for seed in 0..100 {
        let features = Features { scans: seed % 2 == 0, locks: seed % 3 == 0, ..Features::default() };
        let program = program(&mut Random::new(7_000 + seed), features);
        let options = Options::new(IsolationLevel::ReadCommitted);
        let mut remote = Whole { looks: true, ..Whole::new(&program) };
        let mut search = RemoteSearch::new(options);
        while let Some(run) = search.next_run(&mut remote).unwrap() {
            if !run.complete {
                continue;
            }
            let line = search.schedule(&run).to_string();
            let mut again = RemoteSearch::again(options, line.parse().unwrap()).unwrap();
            let made = again.next_run(&mut Whole { looks: true, ..Whole::new(&program) });
            let made = made.unwrap_or_else(|error| panic!("{line}: {error}")).unwrap();
            assert_eq!(again.schedule(&made).to_string(), line);
            let pattern = |search: &RemoteSearch, run| search.look(run, |run| run.pattern());
            assert_eq!((pattern(&again, &made), &made.ended), (pattern(&search, &run), &run.ended), "{line}");
        }
    }
}

#[test]
fn a_schedule_of_another_program_is_refused() {
    let script = Script::parse("r(x) w(x); r(x) w(x)");
    let options = Options::new(IsolationLevel::ReadCommitted);
    for line in ["a,b 1:0", "a,b 1:0.0 2:1", "a,b 1: 2:0", "a,a 1:0 2:0", "a,c 1:0 2:0", "a,b 2:0 1:2 end:7"] {
        let mut search = RemoteSearch::again(options, line.parse().unwrap()).unwrap();
        let made = search.next_run(&mut Whole::new(&script));
        // A state that there is not is the last that there is.
        let expected = if line.contains("end") { None } else { Some(ExploreError::ForeignSchedule) };
        assert_eq!(made.err(), expected, "{line}");
    }
}

#[test]
fn a_session_that_comes_too_late_for_its_name_is_told() {
    let script = Script::parse("r(x) w(x); r(x) w(x)");
    let mut remote = Whole { mischief: Some(Mischief::Late), ..Whole::new(&script) };
    let mut search = RemoteSearch::new(Options::new(IsolationLevel::ReadCommitted));
    let run = search.next_run(&mut remote).unwrap().unwrap();
    assert_eq!(run.disorder.as_deref(), Some("a"));
    let mut search = RemoteSearch::new(Options::new(IsolationLevel::ReadCommitted));
    while let Some(run) = search.next_run(&mut Whole::new(&script)).unwrap() {
        assert_eq!(run.disorder, None);
    }
}

fn error_of(text: &str, mischief: Mischief) -> ExploreError {
    let script = Script::parse(text);
    let mut remote = Whole { mischief: Some(mischief), ..Whole::new(&script) };
    let mut search = RemoteSearch::new(Options::new(IsolationLevel::ReadCommitted));
    loop {
        match search.next_run(&mut remote) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the mischief was not noticed"),
            Err(error) => return error,
        }
    }
}

#[test]
fn a_program_that_does_something_else_than_before_is_named() {
    let text = "r(x) w(x); r(x) w(x)";
    let error = error_of(text, Mischief::OtherInitial).to_string();
    assert!(error.contains("the row x was otherwise when another run began"), "{error}");
    let error = error_of(text, Mischief::OtherWrite).to_string();
    assert!(error.contains("#0 is not deterministic: its event 2 was a write of x"), "{error}");
    assert!(error.contains("with something else in it"), "{error}");
    let error = error_of(text, Mischief::NoLastTransaction).to_string();
    assert!(error.contains("#0 was run before in the same circumstances"), "{error}");
}

#[test]
fn a_history_that_the_program_does_not_let_happen_is_counted() {
    let script = Script::parse("r(x) w(x); r(x) w(x)");
    let mut remote = Whole { mischief: Some(Mischief::NeverFirst), ..Whole::new(&script) };
    let mut search = RemoteSearch::new(Options::new(IsolationLevel::ReadCommitted));
    let mut complete = 0;
    while let Some(run) = search.next_run(&mut remote).unwrap() {
        complete += u64::from(run.complete);
    }
    assert_eq!(search.progress().explored, complete);
    assert!(search.skipped() > 0 && complete > 0 && complete < 3, "{complete} complete, {} skipped", search.skipped());
}

#[test]
fn a_program_without_transactions_is_no_program() {
    let script = Script::default();
    let mut search = RemoteSearch::new(Options::new(IsolationLevel::Causal));
    let error = search.next_run(&mut Whole::new(&script)).err().unwrap();
    assert_eq!(error, ExploreError::NoTransactions);
}
