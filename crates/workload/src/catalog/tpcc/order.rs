//! New orders (clause 2.4) and the status of the last one (clause 2.6).

use super::book::Manner;
use super::calls::{District, NewOrder, OrderLine, Who};
use super::pay::find_customer;
use super::{CUSTOMER, DISTRICT, ITEM, STOCK, WAREHOUSE};
use crate::catalog::shared::{Arithmetic, required};
use crate::table::Table;
use crate::{Failure, Row, Transaction, Values};

/// Reads a row that is changed soon.
fn read(
    transaction: &mut Transaction<'_>,
    table: &Table,
    key: impl Values,
    columns: &[&str],
    locking: bool,
) -> Result<Row, Failure> {
    required(if locking {
        transaction.select_for_update(table, key, columns)?
    } else {
        transaction.select(table, key, columns)?
    })
}

pub(super) fn place(transaction: &mut Transaction<'_>, order: &NewOrder, manner: Manner) -> Result<(), Failure> {
    let (warehouse, district) = order.district;
    required(transaction.select(&CUSTOMER, [warehouse, district, order.customer], &["c_discount", "c_last"])?)?;
    required(transaction.select(&WAREHOUSE, warehouse, &["w_tax"])?)?;
    let key = [warehouse, district];
    let number = read(transaction, &DISTRICT, key, &["d_next_o_id", "d_tax"], manner.locking)?.int(0)?;
    match manner.arithmetic {
        Arithmetic::Server => transaction.update(&DISTRICT, key, "d_next_o_id = d_next_o_id + ?", 1)?,
        Arithmetic::Client => transaction.overwrite(&DISTRICT, key, "d_next_o_id = ?", number + 1)?,
    };
    let local = i64::from(order.lines.iter().all(|line| line.warehouse == warehouse));
    let (book, place) = (manner.book, [warehouse, district, number]);
    let values = (order.customer, manner.now, None::<i64>, order.lines.len() as i64, local);
    manner.insert(transaction, &book.orders, (place, 0), values)?;
    manner.insert(transaction, &book.new_orders, (place, 0), ())?;
    for (line, position) in order.lines.iter().zip(1..) {
        // The one in a hundred: an item that nobody has.
        let price = required(transaction.select(&ITEM, line.item, &["i_price", "i_name", "i_data"])?)?.int(0)?;
        let info = take(transaction, line, warehouse, manner)?;
        let values = (line.item, line.warehouse, None::<i64>, line.quantity, line.quantity * price, info);
        manner.insert(transaction, &book.lines, ([warehouse, district, number, position], position), values)?;
    }
    Ok(())
}

/// Takes the pieces of a line out of the stock; what the line says about the district.
fn take(transaction: &mut Transaction<'_>, line: &OrderLine, home: i64, manner: Manner) -> Result<String, Failure> {
    let key = [line.warehouse, line.item];
    let columns = ["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt", "s_dist", "s_data"];
    let row = read(transaction, &STOCK, key, &columns, manner.locking)?;
    let left = row.int(0)? - line.quantity;
    let left = if left >= 10 { left } else { left + 91 };
    let remote = i64::from(line.warehouse != home);
    match manner.arithmetic {
        Arithmetic::Server => {
            let set =
                "s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?";
            transaction.update(&STOCK, key, set, [left, line.quantity, remote])?
        }
        Arithmetic::Client => {
            let set = "s_quantity = ?, s_ytd = ?, s_order_cnt = ?, s_remote_cnt = ?";
            let values = [left, row.int(1)? + line.quantity, row.int(2)? + 1, row.int(3)? + remote];
            transaction.overwrite(&STOCK, key, set, values)?
        }
    };
    Ok(row.text(4)?.to_owned())
}

pub(super) fn status(
    transaction: &mut Transaction<'_>,
    district: District,
    customer: &Who,
    manner: Manner,
) -> Result<(), Failure> {
    let customer = find_customer(transaction, district, customer)?;
    let (warehouse, district) = district;
    let last = "o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1";
    let columns = ["o_id", "o_carrier_id", "o_entry_d"];
    let orders = transaction.scan(&manner.book.orders, last, [warehouse, district, customer.number], &columns)?;
    let Some(order) = orders.first() else { return Ok(()) };
    let columns = ["ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount", "ol_delivery_d"];
    manner.book.lines_of(transaction, [warehouse, district, order.row.int(0)?], &columns)?;
    Ok(())
}
