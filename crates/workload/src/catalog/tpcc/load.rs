//! The rows at the start: clause 4.3.3.1, turned down.
//!
//! ```text
//!   every customer has paid 10.00 once and has one order; the last 30 % of the orders of a district are not delivered yet
//!   c_balance -10.00   c_ytd_payment 10.00   d_ytd = 10.00 × customers   w_ytd = d_ytd × districts
//! ```

use super::calls::last_name;
use super::{CUSTOMER, DISTRICT, HISTORY, ITEM, STOCK, Tpcc, WAREHOUSE};
use crate::{Loader, Random, Value};

/// What every customer has paid.
const PAID: i64 = 1000;

/// How many orders of a district are not delivered at the start: 900 of 3,000 in the specification.
fn undelivered(tpcc: &Tpcc) -> i64 {
    (tpcc.customers * 3 + 9) / 10
}

/// The price of an item.
fn price(item: i64) -> i64 {
    100 + item * 37 % 9901
}

pub(super) fn load(tpcc: &Tpcc, loader: &mut Loader) {
    let warehouses = 1..=tpcc.warehouses;
    for warehouse in warehouses.clone() {
        let paid = PAID * tpcc.customers * tpcc.districts;
        loader.insert(&WAREHOUSE, warehouse, (format!("warehouse {warehouse}"), 1000, paid));
    }
    let districts: Vec<(i64, i64)> = warehouses
        .clone()
        .flat_map(|warehouse| (1..=tpcc.districts).map(move |district| (warehouse, district)))
        .collect();
    for (warehouse, district) in districts.iter().copied() {
        let values = (format!("district {district}"), 1000, PAID * tpcc.customers, tpcc.customers + 1);
        loader.insert(&DISTRICT, [warehouse, district], values);
    }
    districts.iter().for_each(|district| customers(tpcc, *district, loader));
    districts.iter().for_each(|district| orders(tpcc, *district, loader));
    for item in 1..=tpcc.items {
        let data = if item % 10 == 0 { "ORIGINAL" } else { "data" };
        loader.insert(&ITEM, item, (format!("item {item}"), price(item), data));
    }
    for warehouse in warehouses {
        for item in 1..=tpcc.items {
            loader.insert(&STOCK, [warehouse, item], (10 + item * 7 % 91, 0, 0, 0, "district information", "data"));
        }
    }
}

fn customers(tpcc: &Tpcc, (warehouse, district): (i64, i64), loader: &mut Loader) {
    for customer in 1..=tpcc.customers {
        let credit = if customer % 10 == 3 { "BC" } else { "GC" };
        let values: Vec<Value> = vec![
            format!("first {customer}").into(),
            last_name(customer).into(),
            credit.into(),
            500.into(),
            (-PAID).into(),
            PAID.into(),
            1.into(),
            0.into(),
            "data".into(),
        ];
        loader.insert(&CUSTOMER, [warehouse, district, customer], values);
    }
    for customer in 1..=tpcc.customers {
        let number = ((warehouse - 1) * tpcc.districts + district - 1) * tpcc.customers + customer;
        loader.insert(&HISTORY, number, (warehouse, district, customer, warehouse, district, 0, PAID, "first"));
    }
}

/// An order for every customer; a delivered line was for free.
fn orders(tpcc: &Tpcc, (warehouse, district): (i64, i64), loader: &mut Loader) {
    let first_new = tpcc.customers - undelivered(tpcc) + 1;
    // What is loaded does not depend on the seed of the run.
    let mut random = Random::of_operation(0, warehouse as usize, district as u64);
    let (book, mut lines) = (tpcc.book(), Vec::new());
    // The orders of all districts in a row, and their lines: with enough room for each.
    let first = ((warehouse - 1) * tpcc.districts + district - 1) * tpcc.customers;
    let number = |order: i64, line: i64| (first + order) * (tpcc.most_lines + 1) + line;
    for order in 1..=tpcc.customers {
        let count = random.between(tpcc.fewest_lines.max(1), tpcc.most_lines);
        let carrier = (order < first_new).then(|| random.between(1, 10));
        let place = ([warehouse, district, order], number(order, 0));
        book.load(loader, &book.orders, place, (order, 0, carrier, count, 1));
        for line in 1..=count {
            let (item, delivered) = (random.between(1, tpcc.items), carrier.map(|_| 0));
            let amount = if delivered.is_some() { 0 } else { random.between(1, 999_999) };
            lines.push((
                ([warehouse, district, order, line], number(order, line)),
                (item, warehouse, delivered, 5, amount, "district information"),
            ));
        }
    }
    for order in first_new..=tpcc.customers {
        book.load(loader, &book.new_orders, ([warehouse, district, order], number(order, 0)), ());
    }
    lines.into_iter().for_each(|(place, values)| book.load(loader, &book.lines, place, values));
}
