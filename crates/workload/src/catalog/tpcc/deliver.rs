//! Deliveries (clause 2.7) and stock that runs short (clause 2.8).

use super::book::Manner;
use super::calls::District;
use super::{CUSTOMER, DISTRICT, STOCK};
use crate::catalog::shared::{Arithmetic, required};
use crate::{Failure, Transaction};
use std::collections::BTreeSet;

/// Delivers the oldest new order of a district, if there is one.
pub(super) fn deliver(
    transaction: &mut Transaction<'_>,
    (warehouse, district): District,
    carrier: i64,
    manner: Manner,
) -> Result<(), Failure> {
    let (book, place) = (manner.book, (warehouse, district));
    let oldest = "no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1";
    let waiting = transaction.scan(&book.new_orders, oldest, [warehouse, district], &["no_o_id"])?;
    let Some(order) = waiting.first() else { return Ok(()) };
    let order = order.row.int(0)?;
    if !book.take_new(transaction, place, order)? {
        // Somebody else delivers it.
        return Err(Failure::RolledBack);
    }
    let orders = book.orders(transaction, place, order, &["o_c_id"])?;
    let customer = orders.first().ok_or(Failure::RolledBack)?.row.int(0)?;
    for order in &orders {
        transaction.overwrite(&book.orders, &order.key, "o_carrier_id = ?", carrier)?;
    }
    let lines = book.lines_of(transaction, [warehouse, district, order], &["ol_amount"])?;
    let mut total = 0;
    for line in &lines {
        total += line.row.int(0)?;
        transaction.overwrite(&book.lines, &line.key, "ol_delivery_d = ?", manner.now)?;
    }
    charge(transaction, [warehouse, district, customer], total, manner.arithmetic)
}

fn charge(
    transaction: &mut Transaction<'_>,
    customer: [i64; 3],
    total: i64,
    arithmetic: Arithmetic,
) -> Result<(), Failure> {
    let there = match arithmetic {
        Arithmetic::Server => {
            let set = "c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1";
            transaction.update(&CUSTOMER, customer, set, total)?
        }
        Arithmetic::Client => {
            let row = required(transaction.select(&CUSTOMER, customer, &["c_balance", "c_delivery_cnt"])?)?;
            let values = [row.int(0)? + total, row.int(1)? + 1];
            transaction.overwrite(&CUSTOMER, customer, "c_balance = ?, c_delivery_cnt = ?", values)?
        }
    };
    if there { Ok(()) } else { Err(Failure::RolledBack) }
}

/// How many items of the last twenty orders are below a threshold.
pub(super) fn stock_level(
    transaction: &mut Transaction<'_>,
    (warehouse, district): District,
    threshold: i64,
    manner: Manner,
) -> Result<(), Failure> {
    let next = required(transaction.select(&DISTRICT, [warehouse, district], &["d_next_o_id"])?)?.int(0)?;
    let last = "ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ?";
    let lines = transaction.scan(&manner.book.lines, last, [warehouse, district, next - 20, next], &["ol_i_id"])?;
    let items = lines.iter().map(|line| line.row.int(0)).collect::<Result<BTreeSet<i64>, Failure>>()?;
    let mut short = 0;
    for item in items {
        let left = required(transaction.select(&STOCK, [warehouse, item], &["s_quantity"])?)?.int(0)?;
        short += i64::from(left < threshold);
    }
    // A terminal would show the number.
    let _ = short;
    Ok(())
}
