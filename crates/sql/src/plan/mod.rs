//! Planning: which keys a query reads.
//!
//! Rules decide, never costs, because what is read is the result that matters:
//!
//! ```text
//!   WHERE id = 7                      point read   item/7
//!   WHERE id IN (7, 9)                point reads  item/7 item/9
//!   WHERE shop = 1 AND price < 10     range        item@shop_price/1/..10, then a point read of each row found
//!   WHERE lower(name) = 'bolt'        scan         item/
//! ```
//!
//! A condition that chose the access path is evaluated again on the row, so a path never decides what qualifies, only what is looked at.
//!
//! The binder makes a plan that is right and slow (scans, then joins, then filters); [`optimise()`] moves conditions down and
//! chooses the paths.

mod access;
mod columns;
mod explain;
mod join;
mod keep;
mod links;
mod lock;
mod optimise;

pub(crate) use columns::narrow_to;
pub(crate) use explain::explain;
pub(crate) use join::have_equal_keys;
pub(crate) use links::{alone, links, links_alone};
pub(crate) use lock::{Leaf, finds_one, leaves};
pub(crate) use optimise::{optimise, optimise_repeated};
