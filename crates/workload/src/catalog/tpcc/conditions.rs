//! The twelve consistency conditions of clause 3.3.2.
//!
//! ```text
//!   A1   w_ytd = sum of d_ytd                          A7   ol_delivery_d is null ⇔ the order's o_carrier_id is null
//!   A2   d_next_o_id - 1 = greatest o_id = greatest no_o_id   A8   w_ytd = sum of h_amount
//!   A3   new orders of a district have no gap          A9   d_ytd = sum of h_amount
//!   A4   sum of o_ol_cnt = number of lines, per district      A10  c_balance = delivered ol_amount - h_amount
//!   A5   o_carrier_id is null ⇔ there is a new order   A11  orders - new orders = delivered orders, per district
//!   A6   o_ol_cnt = number of lines, per order         A12  c_balance + c_ytd_payment = delivered ol_amount
//! ```
//!
//! Rows are counted and added up as the clause does, in SQL: where two orders share a number, as in [`super::book`], A4 and A11 add up both; A5
//! to A7, A10 and A12 take each of them together with all that bears its number.
//!
//! Two are worded for every moment. A2 leaves out districts without new orders, as the clause does. In A11 the clause has the
//! number of delivered orders at the start, 2100, which the first delivery changes; here it is the number of orders with a carrier.

use super::book::KEYED;
use super::{CUSTOMER, DISTRICT, HISTORY, WAREHOUSE};
use crate::catalog::shared::{Sums, all_rows, differences, nothing_against};
use crate::workload::{Assertion, FinalState};
use crate::{Failure, Row};
use std::collections::BTreeMap;

type District = (i64, i64);
/// An order or a customer: warehouse, district, number.
type DistrictEntry = (i64, i64, i64);

struct Order {
    customer: i64,
    is_delivered: bool,
    lines: i64,
}

/// All that conditions are about.
struct Contents {
    warehouses: Sums<i64>,
    district_paid: Sums<District>,
    next_order: Sums<District>,
    balance: Sums<DistrictEntry>,
    customer_paid: Sums<DistrictEntry>,
    orders: Vec<(DistrictEntry, Order)>,
    new_orders: Vec<DistrictEntry>,
    /// Order, whether it is delivered, amount.
    lines: Vec<(DistrictEntry, bool, i64)>,
    /// Customer, where it was paid, amount.
    payments: Vec<(DistrictEntry, District, i64)>,
}

fn place(row: &Row) -> Result<DistrictEntry, Failure> {
    Ok((row.int(0)?, row.int(1)?, row.int(2)?))
}

fn district((warehouse, district, _): DistrictEntry) -> District {
    (warehouse, district)
}

/// What is found for every row.
fn each<T>(rows: &[Row], of: impl Fn(&Row) -> Result<T, Failure>) -> Result<Vec<T>, Failure> {
    rows.iter().map(of).collect()
}

impl Contents {
    fn read(end: &mut FinalState<'_>) -> Result<Contents, Failure> {
        // The names of tables and columns are the same in both books.
        let warehouses = all_rows(end, &WAREHOUSE, &["w_id", "w_ytd"])?;
        let districts = all_rows(end, &DISTRICT, &["d_w_id", "d_id", "d_ytd", "d_next_o_id"])?;
        let columns = ["c_w_id", "c_d_id", "c_id", "c_balance", "c_ytd_payment"];
        let customers = all_rows(end, &CUSTOMER, &columns)?;
        let orders = all_rows(end, &KEYED.orders, &["o_w_id", "o_d_id", "o_id", "o_c_id", "o_carrier_id", "o_ol_cnt"])?;
        let new_orders = all_rows(end, &KEYED.new_orders, &["no_w_id", "no_d_id", "no_o_id"])?;
        let lines = all_rows(end, &KEYED.lines, &["ol_w_id", "ol_d_id", "ol_o_id", "ol_delivery_d", "ol_amount"])?;
        let columns = ["h_c_w_id", "h_c_d_id", "h_c_id", "h_w_id", "h_d_id", "h_amount"];
        let payments = all_rows(end, &HISTORY, &columns)?;
        let order = |row: &Row| -> Result<(DistrictEntry, Order), Failure> {
            Ok((place(row)?, Order { customer: row.int(3)?, is_delivered: !row.is_null(4), lines: row.int(5)? }))
        };
        let of_district = |column| move |row: &Row| Ok(((row.int(0)?, row.int(1)?), row.int(column)?));
        let of_customer = |column| move |row: &Row| Ok((place(row)?, row.int(column)?));
        Ok(Contents {
            warehouses: each(&warehouses, |row| Ok((row.int(0)?, row.int(1)?)))?.into_iter().collect(),
            district_paid: each(&districts, of_district(2))?.into_iter().collect(),
            next_order: each(&districts, of_district(3))?.into_iter().collect(),
            balance: each(&customers, of_customer(3))?.into_iter().collect(),
            customer_paid: each(&customers, of_customer(4))?.into_iter().collect(),
            orders: each(&orders, order)?,
            new_orders: each(&new_orders, place)?,
            lines: each(&lines, |row| Ok((place(row)?, !row.is_null(3), row.int(4)?)))?,
            payments: each(&payments, |row| Ok((place(row)?, (row.int(3)?, row.int(4)?), row.int(5)?)))?,
        })
    }

    /// The orders with each number.
    fn by_number(&self) -> BTreeMap<DistrictEntry, Vec<&Order>> {
        let mut numbers: BTreeMap<DistrictEntry, Vec<&Order>> = BTreeMap::new();
        self.orders.iter().for_each(|(place, order)| numbers.entry(*place).or_default().push(order));
        numbers
    }

    /// What customers have to pay for what was delivered to them.
    fn delivered(&self) -> Sums<DistrictEntry> {
        let orders = self.by_number();
        let lines = self.lines.iter().filter(|line| line.1);
        sums(lines.flat_map(|(place, _, amount)| {
            let orders = orders.get(place).into_iter().flatten();
            orders.map(|order| ((place.0, place.1, order.customer), *amount))
        }))
    }

    fn lines_by_order(&self) -> Sums<DistrictEntry> {
        sums(self.lines.iter().map(|line| (line.0, 1)))
    }

    fn delivered_orders(&self) -> impl Iterator<Item = DistrictEntry> + '_ {
        self.orders.iter().filter(|(_, order)| order.is_delivered).map(|(place, _)| *place)
    }
}

fn sums<Key: Ord>(pairs: impl Iterator<Item = (Key, i64)>) -> Sums<Key> {
    let mut sums = Sums::new();
    pairs.for_each(|(key, amount)| *sums.entry(key).or_default() += amount);
    sums
}

/// Whether two ways to count agree, for districts.
fn by_district(one: &Sums<District>, other: &Sums<District>) -> Vec<String> {
    differences(one, other, |(warehouse, district), one, other| {
        format!("district {warehouse}/{district}: {one}, {other}")
    })
}

/// For orders and customers.
fn by_place(what: &str, one: &Sums<DistrictEntry>, other: &Sums<DistrictEntry>) -> Vec<String> {
    differences(one, other, |(warehouse, district, number), one, other| {
        format!("{what} {warehouse}/{district}/{number}: {one}, {other}")
    })
}

fn by_warehouse(one: &Sums<i64>, other: &Sums<i64>) -> Vec<String> {
    differences(one, other, |warehouse, one, other| format!("warehouse {warehouse}: {one}, {other}"))
}

/// All twelve.
pub(super) fn evaluate(end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
    let data = Contents::read(end)?;
    let orders = format!("{} orders", data.orders.len());
    let payments = format!("{} payments", data.payments.len());
    let conditions = [
        ("A1 paid in warehouse and districts", districts_of_warehouse(&data), &payments),
        ("A2 next order number", next_order(&data), &orders),
        ("A3 new orders without gap", gaps(&data), &orders),
        ("A4 lines of a district", lines_of_district(&data), &orders),
        ("A5 new order or carrier", new_or_delivered(&data), &orders),
        ("A6 lines of an order", lines_of_order(&data), &orders),
        ("A7 carrier and delivery date", delivery_dates(&data), &orders),
        ("A8 paid in warehouse and history", history_of_warehouse(&data), &payments),
        ("A9 paid in district and history", history_of_district(&data), &payments),
        ("A10 balance and history", balance_and_history(&data), &payments),
        ("A11 orders, new and delivered", delivered_count(&data), &orders),
        ("A12 balance and payments", balance_and_paid(&data), &payments),
    ];
    Ok(conditions.iter().map(|(name, against, otherwise)| nothing_against(name, against, otherwise)).collect())
}

fn districts_of_warehouse(data: &Contents) -> Vec<String> {
    by_warehouse(&data.warehouses, &sums(data.district_paid.iter().map(|(district, paid)| (district.0, *paid))))
}

fn next_order(data: &Contents) -> Vec<String> {
    let greatest = |places: &mut dyn Iterator<Item = &DistrictEntry>| {
        let mut greatest: Sums<District> = Sums::new();
        places.for_each(|place| {
            let number = greatest.entry(district(*place)).or_insert(place.2);
            *number = place.2.max(*number);
        });
        greatest
    };
    let (order, new) = (greatest(&mut data.orders.iter().map(|order| &order.0)), greatest(&mut data.new_orders.iter()));
    let last: Sums<District> = data.next_order.iter().map(|(district, next)| (*district, next - 1)).collect();
    let with_new = last.iter().filter(|(district, _)| new.contains_key(district));
    let mut against = by_district(&last, &order);
    against.extend(by_district(&with_new.map(|(district, last)| (*district, *last)).collect(), &new));
    against
}

fn gaps(data: &Contents) -> Vec<String> {
    let mut ranges: BTreeMap<District, (i64, i64)> = BTreeMap::new();
    for new in &data.new_orders {
        let range = ranges.entry(district(*new)).or_insert((new.2, new.2));
        *range = (range.0.min(new.2), range.1.max(new.2));
    }
    let wanted = ranges.into_iter().map(|(district, (least, greatest))| (district, greatest - least + 1)).collect();
    by_district(&wanted, &sums(data.new_orders.iter().map(|new| (district(*new), 1))))
}

fn lines_of_district(data: &Contents) -> Vec<String> {
    let wanted = sums(data.orders.iter().map(|(place, order)| (district(*place), order.lines)));
    by_district(&wanted, &sums(data.lines.iter().map(|line| (district(line.0), 1))))
}

/// Every order without a carrier has a new order with its number, every other none, and every new order an order.
fn new_or_delivered(data: &Contents) -> Vec<String> {
    let new = sums(data.new_orders.iter().map(|new| (*new, 1)));
    let mut open: Sums<DistrictEntry> = Sums::new();
    for (place, order) in &data.orders {
        // One that disagrees is enough.
        let (is_open, has_new) = (!order.is_delivered, new.contains_key(place));
        let entry = open.entry(*place).or_insert(i64::from(is_open));
        if is_open != has_new {
            *entry = i64::from(is_open);
        }
    }
    by_place("order", &open, &new.into_keys().map(|place| (place, 1)).collect())
}

/// Every order has as many lines with its number as it says.
fn lines_of_order(data: &Contents) -> Vec<String> {
    let lines = data.lines_by_order();
    let mut wanted: Sums<DistrictEntry> = Sums::new();
    for (place, order) in &data.orders {
        let entry = wanted.entry(*place).or_insert(order.lines);
        if lines.get(place) != Some(&order.lines) {
            *entry = order.lines;
        }
    }
    by_place("order", &wanted, &lines)
}

/// All lines of a delivered order have a date, and none of another: how many, by number.
fn delivery_dates(data: &Contents) -> Vec<String> {
    let orders = data.by_number();
    let of_any = |place: &DistrictEntry, is_delivered| {
        orders.get(place).is_some_and(|orders| orders.iter().any(|order| order.is_delivered == is_delivered))
    };
    let agrees = |(place, has_date, _): &&(DistrictEntry, bool, i64)| {
        !of_any(place, !*has_date) && (!*has_date || of_any(place, true))
    };
    by_place("order", &data.lines_by_order(), &sums(data.lines.iter().filter(agrees).map(|line| (line.0, 1))))
}

fn history_of_warehouse(data: &Contents) -> Vec<String> {
    by_warehouse(&data.warehouses, &sums(data.payments.iter().map(|(_, paid_at, amount)| (paid_at.0, *amount))))
}

fn history_of_district(data: &Contents) -> Vec<String> {
    by_district(&data.district_paid, &sums(data.payments.iter().map(|(_, paid_at, amount)| (*paid_at, *amount))))
}

fn balance_and_history(data: &Contents) -> Vec<String> {
    let paid = data.payments.iter().map(|(customer, _, amount)| (*customer, -amount));
    by_place("customer", &data.balance, &sums(paid.chain(data.delivered())))
}

fn delivered_count(data: &Contents) -> Vec<String> {
    let orders = data.orders.iter().map(|order| (district(order.0), 1));
    let difference = sums(orders.chain(data.new_orders.iter().map(|new| (district(*new), -1))));
    by_district(&difference, &sums(data.delivered_orders().map(|order| (district(order), 1))))
}

fn balance_and_paid(data: &Contents) -> Vec<String> {
    let both = sums(data.balance.iter().chain(&data.customer_paid).map(|(customer, amount)| (*customer, *amount)));
    by_place("customer", &both, &data.delivered())
}

#[cfg(test)]
mod tests {
    use crate::catalog::tests::end_after;
    use crate::catalog::tpcc::Tpcc;

    fn failed(more: &[(&str, &[i64])]) -> Vec<String> {
        let tpcc = Tpcc { warehouses: 2, customers: 10, ..Tpcc::default() };
        let all = end_after(&tpcc, &[], true, more);
        let failed = all.into_iter().filter(|assertion| !assertion.holds);
        failed.filter_map(|assertion| assertion.name.split(' ').next().map(str::to_owned)).collect()
    }

    #[test]
    fn what_one_table_does_not_know_is_found() {
        assert!(failed(&[]).is_empty());
        // A payment that only the history has.
        assert_eq!(failed(&[("history", &[99, 1, 1, 2, 1, 1, 0, 500, 0])]), ["A8", "A9", "A10"]);
        // A new order without an order, beside the open ones.
        assert_eq!(failed(&[("new_order", &[1, 1, 12])]), ["A2", "A3", "A5", "A11"]);
        // An order without lines.
        assert_eq!(failed(&[("orders", &[1, 1, 11, 1, 0, 3, 5, 1])]), ["A2", "A4", "A6"]);
        // A delivered line of an open order, for which customer 10 was not charged.
        assert_eq!(failed(&[("order_line", &[1, 1, 10, 99, 1, 1, 7, 1, 250, 0])]), ["A4", "A6", "A7", "A10", "A12"]);
        // Money in a district that nobody has paid.
        assert_eq!(failed(&[("district", &[1, 3, 0, 0, 100, 1])]), ["A1", "A9"]);
    }
    #[test]
    fn orders_that_share_a_number_are_added_up_and_found_out() {
        // Order 3 of district 1/1 is open and belongs to customer 3. A second one of one line has the same number.
        let again: [(&str, &[i64]); 3] = [
            ("orders", &[7, 1, 1, 3, 1, 0, 0, 1, 1]),
            ("new_order", &[7, 1, 1, 3]),
            ("order_line", &[7, 1, 1, 3, 1, 1, 1, 0, 1, 250, 0]),
        ];
        let loose = Tpcc { keyed: false, ..Tpcc::default() };
        let all = end_after(&loose, &[], true, &again);
        let holds = |name: &str| all.iter().find(|found| found.name.starts_with(name)).is_some_and(|found| found.holds);
        // The carrier and the date are 0 here, which is not null: this order is delivered and has a new order.
        assert!(holds("A4 ") && !holds("A3 ") && !holds("A5 ") && !holds("A6 ") && !holds("A7 "));
        assert!(!holds("A11 ") && !holds("A12 "));
        assert!(end_after(&loose, &[], true, &[]).iter().all(|found| found.holds));
    }
}
