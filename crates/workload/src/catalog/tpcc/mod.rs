//! TPC-C: a supplier with warehouses, districts, customers, and orders that are placed, paid and delivered.
//!
//! | transaction | share | clause | what |
//! |---|---|---|---|
//! | `new-order` | 45 | 2.4 | an order of some lines; one in a hundred names an item that nobody has, and is rolled back |
//! | `payment` | 43 | 2.5 | a customer pays; warehouse, district, customer and history know it |
//! | `order-status` | 4 | 2.6 | the last order of a customer |
//! | `delivery` | 4 | 2.7 | the oldest new order of every district is delivered |
//! | `stock-level` | 4 | 2.8 | how many of the last ordered items run short |
//!
//! ```text
//!   warehouse ─< district ─< customer ─< orders ─< order_line >─ stock >─ item
//!                                 └─< history   └─ new_order, until it is delivered
//! ```
//!
//! Statements are those of OLTP-Bench, with joins and sums done by the program, one row at a time. It reads the district and the
//! stock `FOR UPDATE` in a new order, which [`Tpcc::locking`] turns off, reads a paying customer plainly and writes computed values,
//! and lets the server add where nothing depends on the value: see [`Tpcc::arithmetic`].
//!
//! Scale is turned down, so that customers meet. Money is in cents, shares are in hundredths of a percent, a date is the number of the
//! operation. Addresses and other columns that no statement looks at are left out; a stock has one text for all districts.
//! Assertions A1 to A12 are the consistency conditions of clause 3.3.2.

mod book;
mod calls;
mod conditions;
mod deliver;
mod load;
mod order;
mod pay;

use super::shared::{Arithmetic, fresh};
use super::{Requirements, Store};
use crate::load::Loader;
use crate::table::{Table, int, long_text, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random};
use book::{KEYED, LOOSE, Manner};
use calls::TpccCall;

const WAREHOUSE: Table = Table::new("warehouse", &[int("w_id")], &[text("w_name"), int("w_tax"), int("w_ytd")]);
const DISTRICT: Table = Table::new(
    "district",
    &[int("d_w_id"), int("d_id")],
    &[text("d_name"), int("d_tax"), int("d_ytd"), int("d_next_o_id")],
);
const CUSTOMER: Table = Table::new(
    "customer",
    &[int("c_w_id"), int("c_d_id"), int("c_id")],
    &[
        text("c_first"),
        text("c_last"),
        text("c_credit"),
        int("c_discount"),
        int("c_balance"),
        int("c_ytd_payment"),
        int("c_payment_cnt"),
        int("c_delivery_cnt"),
        long_text("c_data"),
    ],
)
.with_indexes(&["c_w_id, c_d_id, c_last"]);
const HISTORY: Table = Table::new(
    "history",
    &[int("h_id")],
    &[
        int("h_c_w_id"),
        int("h_c_d_id"),
        int("h_c_id"),
        int("h_w_id"),
        int("h_d_id"),
        int("h_date"),
        int("h_amount"),
        text("h_data"),
    ],
);
const ITEM: Table = Table::new("item", &[int("i_id")], &[text("i_name"), int("i_price"), text("i_data")]);
const STOCK: Table = Table::new(
    "stock",
    &[int("s_w_id"), int("s_i_id")],
    &[int("s_quantity"), int("s_ytd"), int("s_order_cnt"), int("s_remote_cnt"), text("s_dist"), text("s_data")],
);

const WITH_KEYS: [Table; 9] =
    [WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, KEYED.orders, KEYED.new_orders, KEYED.lines, ITEM, STOCK];
const WITHOUT: [Table; 9] =
    [WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, LOOSE.orders, LOOSE.new_orders, LOOSE.lines, ITEM, STOCK];

/// How many items there are where every lookup reads all of them.
const SCANNED_ITEMS: i64 = 5;

/// The workload.
#[derive(Clone, Debug)]
pub struct Tpcc {
    /// How many warehouses there are.
    pub warehouses: i64,
    /// How many districts a warehouse has.
    pub districts: i64,
    /// How many customers a district has.
    pub customers: i64,
    /// How many items there are.
    pub items: i64,
    /// How many lines an order has at least.
    pub fewest_lines: i64,
    /// And at most.
    pub most_lines: i64,
    /// Whether orders, new orders and lines have the keys of clause 1.3. If not, every row has a key of its own, and two orders may share
    /// their number, as they do in a store that does not keep keys unique.
    pub keyed: bool,
    /// Whether a new order reads the district and the stock `FOR UPDATE`.
    pub locking: bool,
    /// Who adds to the totals of warehouses, districts and stock, and to the balance at a delivery. At a payment the client
    /// computes the balance in any case.
    pub arithmetic: Arithmetic,
}

impl Default for Tpcc {
    fn default() -> Tpcc {
        Tpcc {
            warehouses: 1,
            districts: 2,
            customers: 3,
            items: 20,
            fewest_lines: 5,
            most_lines: 15,
            keyed: true,
            locking: true,
            arithmetic: Arithmetic::Server,
        }
    }
}

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn tables(&self) -> &[Table] {
        if self.keyed { &WITH_KEYS } else { &WITHOUT }
    }

    fn load(&self, loader: &mut Loader) {
        load::load(self, loader);
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let call = calls::draw(self, random);
        let manner = Manner {
            book: self.book(),
            locking: self.locking,
            arithmetic: self.arithmetic,
            now: fresh(session, number),
        };
        Operation::new(call.name(), move |transaction| match &call {
            TpccCall::NewOrder(order) => order::place(transaction, order, manner),
            TpccCall::Payment(payment) => pay::pay(transaction, payment, manner),
            TpccCall::OrderStatus { district, customer } => order::status(transaction, *district, customer, manner),
            TpccCall::Delivery { warehouse, districts, carrier } => (1..=*districts)
                .try_for_each(|number| deliver::deliver(transaction, (*warehouse, number), *carrier, manner)),
            TpccCall::StockLevel { district, threshold } => {
                deliver::stock_level(transaction, *district, *threshold, manner)
            }
        })
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        conditions::evaluate(end)
    }
}

impl Tpcc {
    /// The workload that is asked for.
    pub(super) fn required(required: &Requirements) -> Tpcc {
        let usual = Tpcc::default();
        let items = if required.scan { SCANNED_ITEMS } else { usual.items };
        Tpcc { keyed: required.store == Store::Database, items, ..usual }
    }

    fn book(&self) -> &'static book::Book {
        if self.keyed { &KEYED } else { &LOOSE }
    }
}
