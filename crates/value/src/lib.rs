//! The values of SQL: what they are, how they are written, compared and converted, and what functions make of them.
//!
//! ```text
//!   text ── input ──> Datum ── cast, compare, function ──> Datum ── output ──> text
//!                       │
//!                    SqlType: what it means        Dialect: for whom
//! ```
//!
//! A [`Datum`] says what is stored; the static [`SqlType`] beside it says what it means: `Integer` is one variant for all widths of both
//! dialects, and the type bounds it. Nothing here knows of tables: whoever has some reads rows elsewhere and computes with them here.

mod cast;
mod coerce;
mod collation;
mod compare;
mod datum;
mod dialect;
mod error;
pub mod function;
mod interval;
mod json;
mod lenient;
mod names;
pub mod number;
pub mod oid;
pub mod temporal;
mod text;
mod types;
mod zone;

pub use cast::{CastKind, cast};
pub use coerce::{can_coerce, common_type};
pub use collation::Collation;
pub use compare::{GroupKey, NumberKey, compare, compare_in};
pub use datum::Datum;
pub use dialect::Dialect;
pub use error::{Place, SqlError, SqlState};
pub use interval::Interval;
pub use oid::FIRST_USER_OBJECT;
pub use text::{input, output};
pub use types::{EnumerationId, IntegerWidth, Registry, SqlType};
pub use zone::{Style, Zone};
