//! SmallBank: every customer has a savings and a checking account.
//!
//! | procedure | share | what |
//! |---|---|---|
//! | `amalgamate` | 15 | all money of one customer goes to the checking account of another |
//! | `balance` | 15 | reads both accounts |
//! | `deposit-checking` | 15 | puts money in |
//! | `send-payment` | 25 | from one checking account to another, if there is enough |
//! | `transact-savings` | 15 | takes money out of savings, if there is enough |
//! | `write-check` | 15 | takes money out of checking; a fee when both accounts together have too little |
//!
//! The procedures are those of Alomari, Cahill, Fekete and Röhm, "The cost of serializability on platforms that use snapshot isolation"
//! (ICDE 2008), with the shares and amounts of OLTP-Bench. Two things differ from OLTP-Bench. There, `Amalgamate` reads and writes
//! accounts that do not belong together, and does not keep the total in any serial run; here it does what the paper says. And
//! there, procedures read a balance, decide, and then write `bal = bal - ?`. A database that treats this as a read and a write
//! of its own loses updates, as MonkeyDB's does; a real server does not, except where `amalgamate` empties what somebody else changed. So the default is [`Arithmetic::Client`], where the
//! read that decides is also the one that is computed with, and every database without protection loses updates.
//!
//! A13: the total at the end is that of the start, and deposits, and minus withdrawals of transactions that committed.

use super::shared::{Arithmetic, all_rows, pick, required, two_of};
use crate::load::Loader;
use crate::table::{Table, int, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Transaction, Value};

const ACCOUNTS: Table = Table::new("accounts", &[int("custid")], &[text("name")]);
const SAVINGS: Table = Table::new("savings", &[int("custid")], &[int("bal")]);
const CHECKING: Table = Table::new("checking", &[int("custid")], &[int("bal")]);

const SHARES: [u64; 6] = [15, 15, 15, 25, 15, 15];
const DEPOSIT: i64 = 130;
const PAYMENT: i64 = 500;
const WITHDRAWAL: i64 = 2020;
const CHECK: i64 = 500;
const FEE: i64 = 100;

/// The workload. Money is in cents.
#[derive(Clone, Debug)]
pub struct SmallBank {
    /// How many customers there are, at least two.
    pub customers: i64,
    /// What is in every account at the start.
    pub balance: i64,
    /// Who computes new balances.
    pub arithmetic: Arithmetic,
}

impl Default for SmallBank {
    fn default() -> SmallBank {
        SmallBank { customers: 5, balance: 10_000, arithmetic: Arithmetic::Client }
    }
}

/// A call of a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BankCall {
    Amalgamate(i64, i64),
    Balance(i64),
    DepositChecking(i64),
    SendPayment(i64, i64),
    TransactSavings(i64),
    WriteCheck(i64),
}

impl BankCall {
    fn name(self) -> &'static str {
        match self {
            BankCall::Amalgamate(..) => "amalgamate",
            BankCall::Balance(_) => "balance",
            BankCall::DepositChecking(_) => "deposit-checking",
            BankCall::SendPayment(..) => "send-payment",
            BankCall::TransactSavings(_) => "transact-savings",
            BankCall::WriteCheck(_) => "write-check",
        }
    }
}

impl SmallBank {
    fn customers(&self) -> i64 {
        self.customers.max(2)
    }

    fn call(&self, random: &mut Random) -> BankCall {
        let procedure = pick(random, &SHARES);
        let (one, other) = two_of(random, self.customers());
        match procedure {
            0 => BankCall::Amalgamate(one, other),
            1 => BankCall::Balance(one),
            2 => BankCall::DepositChecking(one),
            3 => BankCall::SendPayment(one, other),
            4 => BankCall::TransactSavings(one),
            _ => BankCall::WriteCheck(one),
        }
    }
}

/// An open transaction of the bank.
struct BankTransaction<'a, 'b> {
    transaction: &'a mut Transaction<'b>,
    arithmetic: Arithmetic,
}

impl BankTransaction<'_, '_> {
    /// Runs a procedure; by how much it changed the total.
    fn serve(&mut self, call: BankCall) -> Result<i64, Failure> {
        match call {
            BankCall::Amalgamate(from, to) => self.amalgamate(from, to),
            BankCall::Balance(customer) => {
                self.account(customer)?;
                self.balance(&SAVINGS, customer)?;
                self.balance(&CHECKING, customer)?;
                Ok(0)
            }
            BankCall::DepositChecking(customer) => {
                self.account(customer)?;
                self.add(&CHECKING, customer, DEPOSIT)?;
                Ok(DEPOSIT)
            }
            BankCall::SendPayment(from, to) => {
                self.account(from)?;
                self.account(to)?;
                let balance = self.balance(&CHECKING, from)?;
                self.enough(balance, PAYMENT)?;
                self.change(&CHECKING, from, balance, -PAYMENT)?;
                self.add(&CHECKING, to, PAYMENT)?;
                Ok(0)
            }
            BankCall::TransactSavings(customer) => {
                self.account(customer)?;
                let balance = self.balance(&SAVINGS, customer)?;
                self.enough(balance, WITHDRAWAL)?;
                self.change(&SAVINGS, customer, balance, -WITHDRAWAL)?;
                Ok(-WITHDRAWAL)
            }
            BankCall::WriteCheck(customer) => {
                self.account(customer)?;
                let savings = self.balance(&SAVINGS, customer)?;
                let checking = self.balance(&CHECKING, customer)?;
                let amount = if savings + checking < CHECK { CHECK + FEE } else { CHECK };
                self.change(&CHECKING, customer, checking, -amount)?;
                Ok(-amount)
            }
        }
    }

    fn amalgamate(&mut self, from: i64, to: i64) -> Result<i64, Failure> {
        self.account(from)?;
        self.account(to)?;
        let total = self.balance(&SAVINGS, from)? + self.balance(&CHECKING, from)?;
        self.transaction.overwrite(&SAVINGS, from, "bal = ?", 0)?;
        self.transaction.overwrite(&CHECKING, from, "bal = ?", 0)?;
        self.add(&CHECKING, to, total)?;
        Ok(0)
    }

    fn account(&mut self, customer: i64) -> Result<(), Failure> {
        required(self.transaction.select(&ACCOUNTS, customer, &["name"])?).map(|_| ())
    }

    fn balance(&mut self, table: &Table, customer: i64) -> Result<i64, Failure> {
        required(self.transaction.select(table, customer, &["bal"])?)?.int(0)
    }

    fn enough(&self, balance: i64, amount: i64) -> Result<(), Failure> {
        if balance < amount { Err(Failure::RolledBack) } else { Ok(()) }
    }

    /// Changes a balance that was read just now.
    fn change(&mut self, table: &Table, customer: i64, balance: i64, amount: i64) -> Result<(), Failure> {
        if self.arithmetic == Arithmetic::Server {
            return self.add(table, customer, amount);
        }
        let there = self.transaction.overwrite(table, customer, "bal = ?", balance + amount)?;
        if there { Ok(()) } else { Err(Failure::RolledBack) }
    }

    fn add(&mut self, table: &Table, customer: i64, amount: i64) -> Result<(), Failure> {
        self.arithmetic.add(self.transaction, table, &[customer.into()], "bal", amount)
    }
}

impl Workload for SmallBank {
    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn tables(&self) -> &[Table] {
        &[ACCOUNTS, SAVINGS, CHECKING]
    }

    fn load(&self, loader: &mut Loader) {
        let customers = 1..=self.customers();
        customers.clone().for_each(|customer| loader.insert(&ACCOUNTS, customer, format!("customer {customer}")));
        customers.clone().for_each(|customer| loader.insert(&SAVINGS, customer, self.balance));
        customers.for_each(|customer| loader.insert(&CHECKING, customer, self.balance));
    }

    fn draw(&self, random: &mut Random, _session: usize, _number: u64) -> Operation {
        let (call, arithmetic) = (self.call(random), self.arithmetic);
        Operation::observed(call.name(), move |transaction| {
            Ok(vec![BankTransaction { transaction, arithmetic }.serve(call)?.into()])
        })
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        if !end.is_complete() {
            return Ok(Vec::new());
        }
        let mut total = 0;
        for table in [SAVINGS, CHECKING] {
            for row in all_rows(end, &table, &["bal"])? {
                total += row.int(0)?;
            }
        }
        let start = 2 * self.customers() * self.balance;
        let changes = end.observations().iter().flat_map(|seen| &seen.values);
        let changed: i64 = changes.map(|value| if let Value::Int(amount) = value { *amount } else { 0 }).sum();
        let detail = format!("{start} at the start, {changed:+} by deposits and withdrawals, {total} at the end");
        Ok(vec![Assertion::new("A13 total money", total == start + changed, detail)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_of, observation};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let bank = SmallBank::default();
        let draw = |random: &mut Random, _, _| bank.call(random);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(calls(1, draw).iter().map(|call| call.name()), &[("send-payment", 0.25), ("balance", 0.15)]);
        let differ = |call: &BankCall| !matches!(call, BankCall::SendPayment(one, other) | BankCall::Amalgamate(one, other) if one == other);
        assert!(calls(1, draw).iter().all(differ));
    }

    #[test]
    fn money_is_counted_with_what_was_put_in_and_taken_out() {
        let bank = SmallBank::default();
        assert!(end_of(&bank, &[], true)[0].holds);
        let deposit = observation(0, "deposit-checking", &[DEPOSIT]);
        let failed = end_of(&bank, std::slice::from_ref(&deposit), true);
        assert!(!failed[0].holds);
        assert_eq!(failed[0].detail, "100000 at the start, +130 by deposits and withdrawals, 100000 at the end");
        assert!(end_of(&bank, &[deposit], false).is_empty(), "nobody knows");
    }
}
