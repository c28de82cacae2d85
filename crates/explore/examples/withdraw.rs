//! Two withdrawals from one account, as a test would have them: `cargo run -p skew-explore --example withdraw`.
//!
//! Each looks whether there is enough money, and then takes it. At read committed both look before either takes; with a read that locks,
//! as SELECT … FOR UPDATE, the second one sees what the first has left.

#![allow(clippy::print_stdout)]

use skew_explore::{IsolationLevel, Program, Transaction, TransactionStop, explore};

fn withdraw(t: &mut Transaction<'_, '_>, amount: i64, locking: bool) -> Result<i64, TransactionStop> {
    let balance: i64 = if locking { t.read_for_update("account/1")? } else { t.read("account/1")? };
    if balance < amount {
        return t.abort();
    }
    t.write("account/1", balance - amount)?;
    Ok(amount)
}

fn program(locking: bool) -> Program {
    let mut program = Program::new();
    program.initially("account/1", 100);
    program.session("alice").transaction(move |t| withdraw(t, 60, locking));
    program
        .session("bob")
        .transaction(move |t| withdraw(t, 60, locking))
        .transaction(move |t| withdraw(t, 10, locking));
    program.assert("money adds up", |end| {
        let paid = |session, number| end.returned::<i64>(session, number).copied().unwrap_or(0);
        end.get("account/1") == Some(100 - paid("alice", 0) - paid("bob", 0) - paid("bob", 1))
    });
    program
}

fn main() {
    for (name, locking) in [("plain reads", false), ("reads for update", true)] {
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::Serializable] {
            match explore(&program(locking)).level(level).check() {
                Ok(report) => println!("{name}: all {} runs at {level} are fine", report.runs),
                Err(failure) => println!("{name}: {failure}"),
            }
        }
    }
}
