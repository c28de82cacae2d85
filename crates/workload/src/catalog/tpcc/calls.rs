//! What is drawn: everything that a transaction needs to know before it begins.

use super::Tpcc;
use crate::Random;
use crate::catalog::shared::pick;

const SHARES: [u64; 5] = [45, 43, 4, 4, 4];

/// Warehouse and number.
pub(super) type District = (i64, i64);

/// An item that nobody has.
pub(super) const NO_ITEM: i64 = 0;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TpccCall {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus { district: District, customer: Who },
    Delivery { warehouse: i64, districts: i64, carrier: i64 },
    StockLevel { district: District, threshold: i64 },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NewOrder {
    pub(super) district: District,
    pub(super) customer: i64,
    pub(super) lines: Vec<OrderLine>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OrderLine {
    pub(super) item: i64,
    pub(super) warehouse: i64,
    pub(super) quantity: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Payment {
    /// Where it is paid.
    pub(super) district: District,
    /// Where the customer is at home.
    pub(super) home: District,
    pub(super) customer: Who,
    pub(super) amount: i64,
}

/// A customer of a district.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Who {
    Number(i64),
    LastName(String),
}

impl TpccCall {
    pub(super) fn name(&self) -> &'static str {
        match self {
            TpccCall::NewOrder(_) => "new-order",
            TpccCall::Payment(_) => "payment",
            TpccCall::OrderStatus { .. } => "order-status",
            TpccCall::Delivery { .. } => "delivery",
            TpccCall::StockLevel { .. } => "stock-level",
        }
    }
}

pub(super) fn draw(tpcc: &Tpcc, random: &mut Random) -> TpccCall {
    let transaction = pick(random, &SHARES);
    let warehouse = random.between(1, tpcc.warehouses);
    let district = (warehouse, random.between(1, tpcc.districts));
    match transaction {
        0 => TpccCall::NewOrder(new_order(tpcc, random, district)),
        1 => TpccCall::Payment(payment(tpcc, random, district)),
        2 => TpccCall::OrderStatus { district, customer: who(tpcc, random) },
        3 => TpccCall::Delivery { warehouse, districts: tpcc.districts, carrier: random.between(1, 10) },
        _ => TpccCall::StockLevel { district, threshold: random.between(10, 20) },
    }
}

/// Clause 2.4.1: a line in a hundred comes from another warehouse, an order in a hundred has an item that nobody has.
fn new_order(tpcc: &Tpcc, random: &mut Random, district: District) -> NewOrder {
    let customer = random.between(1, tpcc.customers);
    let count = random.between(tpcc.fewest_lines.max(1), tpcc.most_lines);
    let mut lines: Vec<OrderLine> = (0..count)
        .map(|_| OrderLine {
            item: random.between(1, tpcc.items),
            warehouse: if random.chance(0.01) { other_warehouse(tpcc, random, district.0) } else { district.0 },
            quantity: random.between(1, 10),
        })
        .collect();
    if let (true, Some(last)) = (random.chance(0.01), lines.last_mut()) {
        last.item = NO_ITEM;
    }
    NewOrder { district, customer, lines }
}

/// Clause 2.5.1: 15 of 100 customers pay away from home.
fn payment(tpcc: &Tpcc, random: &mut Random, district: District) -> Payment {
    let home = if random.chance(0.85) {
        district
    } else {
        (other_warehouse(tpcc, random, district.0), random.between(1, tpcc.districts))
    };
    Payment { district, home, customer: who(tpcc, random), amount: random.between(100, 500_000) }
}

fn other_warehouse(tpcc: &Tpcc, random: &mut Random, warehouse: i64) -> i64 {
    if tpcc.warehouses < 2 {
        return warehouse;
    }
    1 + (warehouse - 1 + random.between(1, tpcc.warehouses - 1)) % tpcc.warehouses
}

/// Clauses 2.5.1.2 and 2.6.1.2: 60 of 100 are known by their last names.
fn who(tpcc: &Tpcc, random: &mut Random) -> Who {
    let number = random.between(1, tpcc.customers);
    if random.chance(0.6) { Who::LastName(last_name(number)) } else { Who::Number(number) }
}

/// Clause 4.3.2.3: three syllables, for the digits of a number.
pub(super) fn last_name(customer: i64) -> String {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let number = (customer.max(1) as usize - 1) % 1000;
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let tpcc = Tpcc { warehouses: 3, ..Tpcc::default() };
        let drawn = |random: &mut Random, _, _| draw(&tpcc, random);
        let all = calls(1, drawn);
        assert_eq!(all, calls(1, drawn));
        assert_ne!(all, calls(2, drawn));
        assert_shares(
            all.iter().map(TpccCall::name),
            &[
                ("new-order", 0.45),
                ("payment", 0.43),
                ("order-status", 0.04),
                ("delivery", 0.04),
                ("stock-level", 0.04),
            ],
        );
        let orders: Vec<&NewOrder> = all
            .iter()
            .filter_map(|call| if let TpccCall::NewOrder(order) = call { Some(order) } else { None })
            .collect();
        assert!(orders.iter().all(|order| (5..=15).contains(&order.lines.len())));
        let wrong = orders.iter().filter(|order| order.lines.iter().any(|line| line.item == NO_ITEM)).count();
        assert!((1..=25).contains(&wrong), "{wrong} of {} roll back", orders.len());
    }

    #[test]
    fn last_names_have_three_syllables() {
        assert_eq!((last_name(1).as_str(), last_name(372).as_str()), ("BARBARBAR", "PRICALLYOUGHT"));
    }
}
