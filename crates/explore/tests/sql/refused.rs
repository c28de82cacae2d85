//! What a transaction had read that the server refused: its client knows that it is void, so it makes no run wrong.
//!
//! ```text
//!   a  r(savings, 0)                                        w(checking) commit
//!   b                 w(savings) commit                                            a before b: serializable
//!   c                                    r(savings, b) r(checking, 0)                              w(checking) refused
//! ```
//!
//! With what c read there is no order: it comes after b and before a.

use crate::engines::LEVELS;
use skew_check::{Budget, Verdict};
use skew_explore::{Explorable, Options, Run, RunAnswer, Search, SqlOptions, SqlProgram};
use skew_history::{EngineLevel, IsolationLevel};
use skew_program::Program;

fn budget() -> Budget<'static> {
    Budget::steps(1_000_000)
}

const ACCOUNTS: &str = "
    CREATE TABLE account (name VARCHAR(10) PRIMARY KEY, balance INT NOT NULL);
    INSERT INTO account VALUES ('checking', 0), ('savings', 0);
    CREATE PROCEDURE withdraw()
    BEGIN DECLARE s INT;
      SELECT balance INTO s FROM account WHERE name = 'savings';
      UPDATE account SET balance = balance - 10 WHERE name = 'checking';
    END;
    CREATE PROCEDURE deposit()
    BEGIN UPDATE account SET balance = balance + 20 WHERE name = 'savings'; END;
    CREATE PROCEDURE fee()
    BEGIN DECLARE s, c INT;
      SELECT balance INTO s FROM account WHERE name = 'savings';
      SELECT balance INTO c FROM account WHERE name = 'checking';
      UPDATE account SET balance = balance - 1 WHERE name = 'checking';
    END;
    SESSION a: CALL withdraw();
    SESSION b: CALL deposit();
    SESSION c: CALL fee();";

/// The answer about a run is that about its history.
pub(crate) fn is_as_checked<P: Explorable>(run: &Run<'_, P>) {
    let history = run.history().expect("a history");
    let wanted = match skew_check::check(&history, IsolationLevel::Serializable, budget()) {
        Verdict::Holds(_) => RunAnswer::Holds,
        Verdict::Fails(_) => RunAnswer::Fails,
        Verdict::Unknown(_) => return,
    };
    assert_eq!(run.answer_at(IsolationLevel::Serializable, budget()), wanted, "{}", run.pattern());
}

/// Runs with a refusal, and how many of them are not serializable; the same of those without.
fn counted(level: EngineLevel) -> [(u64, u64); 2] {
    let text = format!("-- dialect: {}\n{ACCOUNTS}", level.engine().name());
    let program = SqlProgram::new(Program::parse(&text).expect("a program"), SqlOptions::default());
    let mut search = Search::new(&program, Options::new(IsolationLevel::Engine(level))).expect("a program");
    let mut counted = [(0, 0); 2];
    while let Some(run) = search.next_run().expect("it runs") {
        if run.answer(budget()) != RunAnswer::Holds || run.is_again() {
            continue;
        }
        is_as_checked(&run);
        let of = &mut counted[usize::from(run.refusals().is_empty())];
        of.0 += 1;
        of.1 += u64::from(run.answer_at(IsolationLevel::Serializable, budget()) == RunAnswer::Fails);
    }
    counted
}

#[test]
fn what_a_refused_transaction_had_read_makes_no_run_wrong() {
    for level in LEVELS {
        let [refused, others] = counted(level);
        let refuses = matches!(level, EngineLevel::PostgresRepeatableRead | EngineLevel::PostgresSerializable);
        assert!(!refuses || refused.0 > 0, "{level}: {refused:?} {others:?}");
        assert_eq!(refused.1, 0, "{level}: {refused:?} {others:?}");
        assert!(level != EngineLevel::PostgresSerializable || others.1 == 0, "{level}: {others:?}");
    }
}
