//! What is generated at the levels of the engines is what they allow: by the checker, and of small histories by the definition.

use skew_check::{Budget, Verdict, check, spec};
use skew_generate::{ParameterError, Parameters, generate, to_history};
use skew_history::{EngineLevel, History, IsolationLevel, Outcome};

fn parameters(level: EngineLevel, seed: u64) -> Parameters {
    Parameters {
        sessions: 3,
        transactions: 5,
        events: 3,
        keys: 3,
        distinct_keys: false,
        read_modify_write: 0.3,
        level: IsolationLevel::Engine(level),
        times: seed.is_multiple_of(2),
        aborted: if seed.is_multiple_of(3) { 0.2 } else { 0.0 },
        refused: seed.is_multiple_of(5),
        seed,
        ..Parameters::default()
    }
}

fn told(history: &History) -> String {
    skew_history::notation::write(history)
}

#[test]
fn small_histories_are_what_the_definition_allows() {
    for level in EngineLevel::ALL {
        for seed in 0..120 {
            let history = to_history(&parameters(level, seed)).unwrap();
            if history.transaction_count() <= 6 {
                assert!(spec::allows_engine(&history, level), "{} {seed}: {}", level.name(), told(&history));
            }
        }
    }
}

#[test]
fn histories_are_what_the_checker_allows() {
    for level in EngineLevel::ALL {
        for seed in 0..25 {
            let wishes = Parameters { sessions: 5, transactions: 60, keys: 12, ..parameters(level, seed) };
            let history = to_history(&wishes).unwrap();
            let verdict = check(&history, wishes.level, Budget::steps(10_000_000));
            assert!(matches!(verdict, Verdict::Holds(_)), "{} {seed}: {verdict:?}", level.name());
        }
    }
}

#[test]
fn weak_levels_show_what_serializable_forbids() {
    for level in [
        EngineLevel::PostgresReadCommitted,
        EngineLevel::PostgresRepeatableRead,
        EngineLevel::MysqlReadCommitted,
        EngineLevel::MysqlRepeatableRead,
    ] {
        let is_weak = |seed| {
            let wishes = Parameters { sessions: 5, transactions: 60, keys: 6, ..parameters(level, seed) };
            let history = to_history(&wishes).unwrap();
            matches!(check(&history, IsolationLevel::Serializable, Budget::steps(1_000_000)), Verdict::Fails(_))
        };
        assert!((1..10).any(is_weak), "{}", level.name());
    }
}

#[test]
fn refusals_are_told_with_code_and_statement() {
    let level = IsolationLevel::Engine(EngineLevel::PostgresRepeatableRead);
    let wishes =
        Parameters { sessions: 6, transactions: 80, keys: 4, events: 3, refused: true, level, ..Parameters::default() };
    let (mut refused, mut ended) = (0, 0);
    generate(&wishes, &mut |transaction| {
        ended += u64::from(transaction.outcome == Outcome::Committed);
        if let Some(refusal) = transaction.refused {
            assert!(["40001", "40P01"].contains(&refusal.error) && refusal.statement >= 1);
            assert_eq!(transaction.outcome, Outcome::AbortedByDatabase);
            refused += 1;
        }
        Ok(())
    })
    .unwrap();
    assert!(refused > 0 && ended == 80, "{refused} refused, {ended} committed");
}

#[test]
fn what_a_server_does_not_have_is_refused() {
    let level = IsolationLevel::Engine(EngineLevel::MysqlRepeatableRead);
    let usual = || Parameters { level, ..Parameters::default() };
    for wishes in [
        Parameters { lists: 0.5, ..usual() },
        Parameters { blind_writes: true, ..usual() },
        Parameters { unknown: 0.1, ..usual() },
    ] {
        assert!(matches!(wishes.validate(), Err(ParameterError::NotOnServer { .. })), "{wishes:?}");
    }
}
