//! SQL programs, explored to the end: the verdicts that the examples promise, counts that are known, and what becomes an event.

mod book;
mod bugs;
mod counts;
mod engines;
mod events;
mod explored;
mod following;
mod impatient;
mod looks;
mod mock;
mod on_engine;
mod random;
mod refused;
mod savepoints;
mod sought;
mod without;
