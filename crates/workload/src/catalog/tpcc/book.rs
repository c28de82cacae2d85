//! The book of orders: orders, new orders and lines, whose keys are made of a number that a new order reads and counts on.
//!
//! At weak levels two new orders can read the same number. What then stands in the book depends on the store:
//!
//! ```text
//!               first: order 7 of 5 lines      second: order 7 of 9 lines
//!   KEYED       o_id 7 is the key              a database refuses the second; where keys are not kept, they are two versions of one
//!                                              row, and 9 lines: a reader finds 5 or 9 of them promised
//!   LOOSE       every row has a key of its own     two orders that are called 7, and 14 lines: 5 + 9
//! ```
//!
//! Clause 3.3.2 adds up rows. Its conditions 4 and 11 are about rows that one transaction writes together, and so hold at causal, as
//! the MonkeyDB paper says in §8.1, where no order can be half of one and half of another; that is what the loose book is for.

use super::calls::District;
use crate::catalog::Arithmetic;
use crate::table::{Column, Table, int, text};
use crate::{Failure, FoundRow, Loader, Transaction, Value, Values};

/// The three tables.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) orders: Table,
    pub(super) new_orders: Table,
    pub(super) lines: Table,
    is_keyed: bool,
}

/// With the keys of clause 1.3.
pub(super) const KEYED: Book = Book {
    orders: Table::new(
        "orders",
        &[int("o_w_id"), int("o_d_id"), int("o_id")],
        &[int("o_c_id"), int("o_entry_d"), int("o_carrier_id"), int("o_ol_cnt"), int("o_all_local")],
    )
    .with_indexes(&["o_w_id, o_d_id, o_c_id, o_id"]),
    new_orders: Table::new("new_order", &[int("no_w_id"), int("no_d_id"), int("no_o_id")], &[]),
    lines: Table::new("order_line", &[int("ol_w_id"), int("ol_d_id"), int("ol_o_id"), int("ol_number")], &LINE),
    is_keyed: true,
};

/// With a key for every row, and those of the clause as indexes.
pub(super) const LOOSE: Book = Book {
    orders: Table::new(
        "orders",
        &[int("o_row")],
        &[
            int("o_w_id"),
            int("o_d_id"),
            int("o_id"),
            int("o_c_id"),
            int("o_entry_d"),
            int("o_carrier_id"),
            int("o_ol_cnt"),
            int("o_all_local"),
        ],
    )
    .with_indexes(&["o_w_id, o_d_id, o_id", "o_w_id, o_d_id, o_c_id, o_id"]),
    new_orders: Table::new("new_order", &[int("no_row")], &[int("no_w_id"), int("no_d_id"), int("no_o_id")])
        .with_indexes(&["no_w_id, no_d_id, no_o_id"]),
    lines: Table::new(
        "order_line",
        &[int("ol_row")],
        &[
            int("ol_w_id"),
            int("ol_d_id"),
            int("ol_o_id"),
            int("ol_number"),
            LINE[0],
            LINE[1],
            LINE[2],
            LINE[3],
            LINE[4],
            LINE[5],
        ],
    )
    .with_indexes(&["ol_w_id, ol_d_id, ol_o_id, ol_number"]),
    is_keyed: false,
};

const LINE: [Column; 6] = [
    int("ol_i_id"),
    int("ol_supply_w_id"),
    int("ol_delivery_d"),
    int("ol_quantity"),
    int("ol_amount"),
    text("ol_dist_info"),
];

/// More rows than an order has.
const ROWS: i64 = 100;

/// How rows are read and computed with in a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) book: &'static Book,
    pub(super) locking: bool,
    pub(super) arithmetic: Arithmetic,
    /// The date, and the number of what is inserted.
    pub(super) now: i64,
}

impl Manner {
    /// Puts a row into the book: where it belongs, and the rest of it. Rows of one order have different places.
    pub(super) fn insert<const PLACE: usize>(
        &self,
        transaction: &mut Transaction<'_>,
        table: &Table,
        (place, row): ([i64; PLACE], i64),
        values: impl Values,
    ) -> Result<(), Failure> {
        let (key, values) = self.book.named(place, self.now * ROWS + row, values.values());
        transaction.insert(table, key, values)
    }
}

impl Book {
    /// The key of a row, and its other columns.
    fn named<const PLACE: usize>(&self, place: [i64; PLACE], row: i64, values: Vec<Value>) -> (Vec<Value>, Vec<Value>) {
        let place: Vec<Value> = place.into_iter().map(Value::from).collect();
        if self.is_keyed { (place, values) } else { (vec![row.into()], [place, values].concat()) }
    }

    /// Loads a row; `number` is one that no other row of the table has.
    pub(super) fn load<const PLACE: usize>(
        &self,
        loader: &mut Loader,
        table: &Table,
        (place, number): ([i64; PLACE], i64),
        values: impl Values,
    ) {
        // Those of new rows are positive.
        let (key, values) = self.named(place, -number, values.values());
        loader.insert(table, key, values);
    }

    /// The lines of an order, in their order.
    pub(super) fn lines_of(
        &self,
        transaction: &mut Transaction<'_>,
        order: [i64; 3],
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        if self.is_keyed {
            return transaction.scan_prefix(&self.lines, order, columns);
        }
        let of_order = "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? ORDER BY ol_number";
        transaction.scan(&self.lines, of_order, order, columns)
    }

    /// The orders with a number: at most one, where there are keys.
    pub(super) fn orders(
        &self,
        transaction: &mut Transaction<'_>,
        (warehouse, district): District,
        order: i64,
        columns: &[&str],
    ) -> Result<Vec<FoundRow>, Failure> {
        let key = [warehouse, district, order];
        if !self.is_keyed {
            return transaction.scan(&self.orders, "o_w_id = ? AND o_d_id = ? AND o_id = ?", key, columns);
        }
        let row = transaction.select(&self.orders, key, columns)?;
        Ok(row.map(|row| FoundRow { key: key.map(Value::from).to_vec(), row }).into_iter().collect())
    }

    /// Takes the new orders with a number out of the book; whether there was one.
    pub(super) fn take_new(
        &self,
        transaction: &mut Transaction<'_>,
        (warehouse, district): District,
        order: i64,
    ) -> Result<bool, Failure> {
        let key = [warehouse, district, order];
        if self.is_keyed {
            return transaction.delete(&self.new_orders, key);
        }
        let condition = "no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
        Ok(!transaction.delete_where(&self.new_orders, condition, key)?.is_empty())
    }
}
