//! RUBiS: an auction house. Items keep the number of their bids and the highest one, as totals of the table of bids.
//!
//! | procedure | share | what |
//! |---|---|---|
//! | `register-item` | 5 | somebody sells something |
//! | `bid` | 45 | a bid above the highest; the item's totals are read, computed and written |
//! | `buy-now` | 15 | some pieces are sold at once, if there are so many |
//! | `view-item` | 35 | an item, its seller and the history of its bids |
//!
//! ```text
//!   bid:   SELECT max_bid, nb_of_bids …   7, 2      INSERT INTO bids … 8       UPDATE items SET max_bid = 8, nb_of_bids = 3
//! ```
//!
//! The servlets of RUBiS read totals, compute in the program and write them, so the default is [`Arithmetic::Client`], and two
//! bids at the same time can lose one of the totals. Bids and sales are for items that are there from the start. An item
//! never ends here: RUBiS ends auctions by the clock, and a run has none.

use super::shared::{Arithmetic, Sums, all_rows, differences, fresh, nothing_against, pick, required};
use crate::load::Loader;
use crate::table::{Table, int, text};
use crate::workload::{Assertion, FinalState, Operation, Workload};
use crate::{Failure, Random, Transaction};

const USERS: Table = Table::new("users", &[int("id")], &[text("nickname"), int("rating")]);
const ITEMS: Table = Table::new(
    "items",
    &[int("id")],
    &[text("name"), int("seller"), int("initial_price"), int("quantity"), int("max_bid"), int("nb_of_bids")],
);
const BIDS: Table =
    Table::new("bids", &[int("id")], &[int("user_id"), int("item_id"), int("qty"), int("bid"), int("placed")])
        .with_indexes(&["item_id"]);
const SALES: Table = Table::new("buy_now", &[int("id")], &[int("buyer_id"), int("item_id"), int("qty"), int("placed")])
    .with_indexes(&["item_id"]);

const SHARES: [u64; 4] = [5, 45, 15, 35];
const PRICE: i64 = 100;

/// The workload.
#[derive(Clone, Debug)]
pub struct Rubis {
    /// How many users there are.
    pub users: i64,
    /// How many items there are at the start.
    pub items: i64,
    /// How many pieces of every item are for sale at the start.
    pub quantity: i64,
    /// Who computes new totals.
    pub arithmetic: Arithmetic,
}

impl Default for Rubis {
    fn default() -> Rubis {
        Rubis { users: 5, items: 5, quantity: 20, arithmetic: Arithmetic::Client }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AuctionCall {
    RegisterItem { user: i64, id: i64, price: i64 },
    Bid { user: i64, id: i64, item: i64, raise: i64 },
    BuyNow { user: i64, id: i64, item: i64, pieces: i64 },
    ViewItem { item: i64 },
}

impl AuctionCall {
    fn name(self) -> &'static str {
        match self {
            AuctionCall::RegisterItem { .. } => "register-item",
            AuctionCall::Bid { .. } => "bid",
            AuctionCall::BuyNow { .. } => "buy-now",
            AuctionCall::ViewItem { .. } => "view-item",
        }
    }
}

impl Rubis {
    fn call(&self, random: &mut Random, session: usize, number: u64) -> AuctionCall {
        let procedure = pick(random, &SHARES);
        let (user, item) = (random.between(1, self.users.max(1)), random.between(1, self.items.max(1)));
        let (id, amount) = (fresh(session, number), random.between(1, 10));
        match procedure {
            0 => AuctionCall::RegisterItem { user, id, price: PRICE * amount },
            1 => AuctionCall::Bid { user, id, item, raise: amount },
            2 => AuctionCall::BuyNow { user, id, item, pieces: 1 + amount % 3 },
            _ => AuctionCall::ViewItem { item },
        }
    }
}

/// An open transaction of the house.
struct House<'a, 'b> {
    transaction: &'a mut Transaction<'b>,
    arithmetic: Arithmetic,
    /// How many pieces of a new item there are.
    quantity: i64,
}

impl House<'_, '_> {
    fn serve(&mut self, call: AuctionCall) -> Result<(), Failure> {
        match call {
            AuctionCall::RegisterItem { user, id, price } => {
                required(self.transaction.select(&USERS, user, &["nickname"])?)?;
                self.transaction.insert(&ITEMS, id, (format!("item {id}"), user, price, self.quantity, 0, 0))
            }
            AuctionCall::Bid { user, id, item, raise } => self.bid(user, id, item, raise),
            AuctionCall::BuyNow { user, id, item, pieces } => self.buy_now(user, id, item, pieces),
            AuctionCall::ViewItem { item } => {
                let row = required(self.transaction.select(&ITEMS, item, &["seller", "max_bid", "nb_of_bids"])?)?;
                self.transaction.select(&USERS, row.int(0)?, &["nickname", "rating"])?;
                self.transaction.scan(&BIDS, "item_id = ?", item, &["user_id", "bid"])?;
                Ok(())
            }
        }
    }

    fn bid(&mut self, user: i64, id: i64, item: i64, raise: i64) -> Result<(), Failure> {
        required(self.transaction.select(&USERS, user, &["nickname"])?)?;
        let row = required(self.transaction.select(&ITEMS, item, &["initial_price", "max_bid", "nb_of_bids"])?)?;
        let (price, highest, count) = (row.int(0)?, row.int(1)?, row.int(2)?);
        let bid = price.max(highest) + raise;
        self.transaction.insert(&BIDS, id, [user, item, 1, bid, id])?;
        let there = match self.arithmetic {
            Arithmetic::Client => {
                self.transaction.overwrite(&ITEMS, item, "max_bid = ?, nb_of_bids = ?", [bid, count + 1])?
            }
            Arithmetic::Server => {
                let set = "max_bid = GREATEST(max_bid, ?), nb_of_bids = nb_of_bids + 1";
                self.transaction.update(&ITEMS, item, set, bid)?
            }
        };
        if there { Ok(()) } else { Err(Failure::RolledBack) }
    }

    fn buy_now(&mut self, user: i64, id: i64, item: i64, pieces: i64) -> Result<(), Failure> {
        required(self.transaction.select(&USERS, user, &["nickname"])?)?;
        let left = required(self.transaction.select(&ITEMS, item, &["quantity"])?)?.int(0)?;
        if left < pieces {
            return Err(Failure::RolledBack);
        }
        self.transaction.insert(&SALES, id, [user, item, pieces, id])?;
        let there = match self.arithmetic {
            Arithmetic::Client => self.transaction.overwrite(&ITEMS, item, "quantity = ?", left - pieces)?,
            Arithmetic::Server => self.transaction.update(&ITEMS, item, "quantity = quantity - ?", pieces)?,
        };
        if there { Ok(()) } else { Err(Failure::RolledBack) }
    }
}

impl Workload for Rubis {
    fn name(&self) -> &'static str {
        "rubis"
    }

    fn tables(&self) -> &[Table] {
        &[USERS, ITEMS, BIDS, SALES]
    }

    fn load(&self, loader: &mut Loader) {
        (1..=self.users.max(1)).for_each(|user| loader.insert(&USERS, user, (format!("user {user}"), 0)));
        for item in 1..=self.items.max(1) {
            let seller = 1 + item % self.users.max(1);
            loader.insert(&ITEMS, item, (format!("item {item}"), seller, PRICE, self.quantity, 0, 0));
        }
    }

    fn draw(&self, random: &mut Random, session: usize, number: u64) -> Operation {
        let (call, arithmetic, quantity) = (self.call(random, session, number), self.arithmetic, self.quantity);
        Operation::new(call.name(), move |transaction| House { transaction, arithmetic, quantity }.serve(call))
    }

    fn assertions(&self, end: &mut FinalState<'_>) -> Result<Vec<Assertion>, Failure> {
        let (mut counts, mut highest, mut gone) = (Sums::new(), Sums::new(), Sums::new());
        for row in all_rows(end, &ITEMS, &["id", "nb_of_bids", "max_bid", "quantity"])? {
            counts.insert(row.int(0)?, row.int(1)?);
            highest.insert(row.int(0)?, row.int(2)?);
            gone.insert(row.int(0)?, self.quantity - row.int(3)?);
        }
        let (mut bids, mut best, mut sold) = (Sums::new(), Sums::new(), Sums::new());
        for row in all_rows(end, &BIDS, &["item_id", "bid"])? {
            *bids.entry(row.int(0)?).or_default() += 1;
            let best = best.entry(row.int(0)?).or_default();
            *best = row.int(1)?.max(*best);
        }
        for row in all_rows(end, &SALES, &["item_id", "qty"])? {
            *sold.entry(row.int(0)?).or_default() += row.int(1)?;
        }
        let count = differences(&counts, &bids, |item, one, other| format!("item {item}: {one}, and {other} bids"));
        let most = differences(&highest, &best, |item, one, other| format!("item {item}: {one}, and {other} was bid"));
        let pieces = differences(&gone, &sold, |item, one, other| format!("item {item}: {one} gone, {other} sold"));
        let (bids, sold): (i64, i64) = (bids.values().sum(), sold.values().sum());
        Ok(vec![
            nothing_against("number of bids", &count, &format!("{bids} bids")),
            nothing_against("highest bid", &most, &format!("{bids} bids")),
            nothing_against("pieces sold", &pieces, &format!("{sold} pieces")),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{assert_shares, calls, end_after};

    #[test]
    fn draws_depend_on_the_seed_and_have_their_shares() {
        let rubis = Rubis::default();
        let draw = |random: &mut Random, session, number| rubis.call(random, session, number);
        assert_eq!(calls(1, draw), calls(1, draw));
        assert_ne!(calls(1, draw), calls(2, draw));
        assert_shares(
            calls(1, draw).iter().map(|call| call.name()),
            &[("register-item", 0.05), ("bid", 0.45), ("buy-now", 0.15), ("view-item", 0.35)],
        );
    }

    #[test]
    fn totals_that_miss_a_bid_or_a_sale_are_found() {
        let failed = |more: &[(&str, &[i64])]| -> Vec<String> {
            let all = end_after(&Rubis::default(), &[], true, more);
            all.into_iter().filter(|assertion| !assertion.holds).map(|assertion| assertion.detail).collect()
        };
        assert_eq!(failed(&[("bids", &[9, 1, 3, 1, 105, 9])]), ["item 3: 0, and 1 bids", "item 3: 0, and 105 was bid"]);
        assert_eq!(failed(&[("buy_now", &[9, 1, 2, 2, 9])]), ["item 2: 0 gone, 2 sold"]);
    }
}
