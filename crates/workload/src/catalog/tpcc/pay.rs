//! Payments: clause 2.5.

use super::book::Manner;
use super::calls::{District, Payment, Who};
use super::{CUSTOMER, DISTRICT, HISTORY, WAREHOUSE};
use crate::catalog::shared::required;
use crate::{Failure, Row, Transaction, Value};

/// How many letters of `c_data` are kept.
const DATA: usize = 500;

const COLUMNS: [&str; 7] = ["c_id", "c_first", "c_credit", "c_balance", "c_ytd_payment", "c_payment_cnt", "c_discount"];

/// A customer as the database has him now.
pub(super) struct Customer {
    pub(super) number: i64,
    is_good: bool,
    balance: i64,
    paid: i64,
    payments: i64,
}

impl Customer {
    fn of(row: &Row) -> Result<Customer, Failure> {
        Ok(Customer {
            number: row.int(0)?,
            is_good: row.text(2)? == "GC",
            balance: row.int(3)?,
            paid: row.int(4)?,
            payments: row.int(5)?,
        })
    }
}

/// By number, or the middle one of those with a last name, in the order of their first names.
pub(super) fn find_customer(
    transaction: &mut Transaction<'_>,
    (warehouse, district): District,
    who: &Who,
) -> Result<Customer, Failure> {
    match who {
        Who::Number(number) => {
            Customer::of(&required(transaction.select(&CUSTOMER, [warehouse, district, *number], &COLUMNS)?)?)
        }
        Who::LastName(name) => {
            let condition = "c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
            let found = transaction.scan(&CUSTOMER, condition, (warehouse, district, name.as_str()), &COLUMNS)?;
            let middle = found.len().saturating_sub(1) / 2;
            Customer::of(&found.get(middle).ok_or(Failure::RolledBack)?.row)
        }
    }
}

pub(super) fn pay(transaction: &mut Transaction<'_>, payment: &Payment, manner: Manner) -> Result<(), Failure> {
    let Payment { district: (warehouse, district), home, amount, .. } = *payment;
    let keys: [&[Value]; 2] = [&[warehouse.into()], &[warehouse.into(), district.into()]];
    manner.arithmetic.add(transaction, &WAREHOUSE, keys[0], "w_ytd", amount)?;
    let name = required(transaction.select(&WAREHOUSE, keys[0], &["w_name"])?)?;
    manner.arithmetic.add(transaction, &DISTRICT, keys[1], "d_ytd", amount)?;
    let district_name = required(transaction.select(&DISTRICT, keys[1], &["d_name"])?)?;

    let customer = find_customer(transaction, home, &payment.customer)?;
    let key = [home.0, home.1, customer.number];
    let totals = [customer.balance - amount, customer.paid + amount, customer.payments + 1];
    let set = "c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?";
    if customer.is_good {
        transaction.overwrite(&CUSTOMER, key, set, totals)?;
    } else {
        let data = required(transaction.select(&CUSTOMER, key, &["c_data"])?)?;
        let told = format!("{} {} {} {district} {warehouse} {amount} | {}", key[2], key[1], key[0], data.text(0)?);
        let told: String = told.chars().take(DATA).collect();
        let [balance, paid, payments] = totals;
        transaction.overwrite(&CUSTOMER, key, &format!("{set}, c_data = ?"), (balance, paid, payments, told))?;
    }
    let data = format!("{}    {}", name.text(0)?, district_name.text(0)?);
    let values = (home.0, home.1, customer.number, warehouse, district, manner.now, amount, data);
    transaction.insert(&HISTORY, manner.now, values)
}
