//! The static types of expressions, columns and parameters.

use std::fmt;
use std::sync::Arc;

/// How many bytes an integer has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IntegerWidth {
    /// One byte, MySQL's TINYINT.
    Tiny,
    /// Two bytes.
    Small,
    /// Three bytes, MySQL's MEDIUMINT.
    Medium,
    /// Four bytes.
    Normal,
    /// Eight bytes.
    Big,
}

/// A type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SqlType {
    /// Not known yet: NULL, an untyped literal, a parameter.
    Unknown,
    /// BOOLEAN.
    Boolean,
    /// An integer.
    Integer {
        /// Its size.
        width: IntegerWidth,
        /// MySQL's UNSIGNED.
        unsigned: bool,
    },
    /// REAL.
    Single,
    /// DOUBLE PRECISION.
    Double,
    /// NUMERIC; `None` is without bounds.
    Decimal(Option<(u32, i32)>),
    /// TEXT and VARCHAR; `None` is without bound.
    Text(Option<u32>),
    /// CHAR(n).
    Character(u32),
    /// BYTEA, BLOB, BINARY.
    Bytes,
    /// DATE.
    Date,
    /// TIME, with the digits of its seconds where they are bounded.
    Time(Option<u8>),
    /// TIMESTAMP, DATETIME; MySQL's has no digits unless it says so.
    Timestamp(Option<u8>),
    /// TIMESTAMP WITH TIME ZONE.
    TimestampZoned(Option<u8>),
    /// INTERVAL.
    Interval,
    /// JSON.
    Json,
    /// JSONB.
    JsonBinary,
    /// UUID.
    Uuid,
    /// An array.
    Array(Box<SqlType>),
    /// PostgreSQL's OID: the number of a thing of the catalog.
    ObjectId,
    /// PostgreSQL's REGCLASS and its kin: the number of a thing, written as its name.
    Registered(Registry),
    /// PostgreSQL's NAME, which catalogs are full of: text.
    Name,
    /// PostgreSQL's `"char"`: one letter, or none.
    Letter,
    /// PostgreSQL's INT2VECTOR and OIDVECTOR: an array that counts from 0 and is written without braces.
    Vector(Box<SqlType>),
    /// What a function gives that gives nothing.
    Void,
    /// A row value: the names and types of its fields.
    Record(Arc<[(String, SqlType)]>),
    /// An enumeration by its name: stored as text, ordered by declaration.
    Enumeration(EnumerationId),
}

/// Which things of the catalog a number is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Registry {
    /// Tables, views, indexes, sequences: REGCLASS.
    Relation,
    /// REGTYPE.
    Type,
    /// REGPROC.
    Function,
    /// REGNAMESPACE.
    Namespace,
    /// REGROLE.
    Role,
}

/// An enumeration of the catalog.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EnumerationId(pub u32);

impl SqlType {
    /// INTEGER.
    pub const INTEGER: SqlType = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    /// SMALLINT.
    pub const SMALLINT: SqlType = SqlType::Integer { width: IntegerWidth::Small, unsigned: false };
    /// BIGINT.
    pub const BIGINT: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
    /// TEXT.
    pub const TEXT: SqlType = SqlType::Text(None);
    /// VARCHAR without a length, which PostgreSQL tells from TEXT by its name alone: the greatest length stands for it.
    pub const VARYING: SqlType = SqlType::Text(Some(u32::MAX));
    /// NUMERIC without bounds.
    pub const NUMERIC: SqlType = SqlType::Decimal(None);
    /// TIME.
    pub const TIME: SqlType = SqlType::Time(None);
    /// TIMESTAMP.
    pub const TIMESTAMP: SqlType = SqlType::Timestamp(None);
    /// TIMESTAMP WITH TIME ZONE.
    pub const TIMESTAMPTZ: SqlType = SqlType::TimestampZoned(None);
}

impl fmt::Display for SqlType {
    /// PostgreSQL's long names.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        use IntegerWidth::*;
        match self {
            SqlType::Unknown => write!(formatter, "unknown"),
            SqlType::Boolean => write!(formatter, "boolean"),
            SqlType::Integer { width, unsigned } => {
                let name = match width {
                    Tiny => "tinyint",
                    Small => "smallint",
                    Medium => "mediumint",
                    Normal => "integer",
                    Big => "bigint",
                };
                write!(formatter, "{name}{}", if *unsigned { " unsigned" } else { "" })
            }
            SqlType::Single => write!(formatter, "real"),
            SqlType::Double => write!(formatter, "double precision"),
            SqlType::Decimal(None) => write!(formatter, "numeric"),
            SqlType::Decimal(Some((precision, scale))) => write!(formatter, "numeric({precision},{scale})"),
            SqlType::Text(None) => write!(formatter, "text"),
            SqlType::Text(Some(u32::MAX)) => write!(formatter, "character varying"),
            SqlType::Text(Some(length)) => write!(formatter, "character varying({length})"),
            SqlType::Character(length) => write!(formatter, "character({length})"),
            SqlType::Bytes => write!(formatter, "bytea"),
            SqlType::Date => write!(formatter, "date"),
            SqlType::Time(digits) => write!(formatter, "time{} without time zone", Digits(*digits)),
            SqlType::Timestamp(digits) => write!(formatter, "timestamp{} without time zone", Digits(*digits)),
            SqlType::TimestampZoned(digits) => write!(formatter, "timestamp{} with time zone", Digits(*digits)),
            SqlType::Interval => write!(formatter, "interval"),
            SqlType::Json => write!(formatter, "json"),
            SqlType::JsonBinary => write!(formatter, "jsonb"),
            SqlType::Uuid => write!(formatter, "uuid"),
            SqlType::Array(element) => write!(formatter, "{element}[]"),
            SqlType::ObjectId => write!(formatter, "oid"),
            SqlType::Registered(registry) => write!(formatter, "{registry}"),
            SqlType::Name => write!(formatter, "name"),
            SqlType::Letter => write!(formatter, "\"char\""),
            SqlType::Vector(element) if **element == SqlType::ObjectId => write!(formatter, "oidvector"),
            SqlType::Vector(_) => write!(formatter, "int2vector"),
            SqlType::Void => write!(formatter, "void"),
            SqlType::Record(_) => write!(formatter, "record"),
            SqlType::Enumeration(EnumerationId(number)) => write!(formatter, "enum {number}"),
        }
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Registry::Relation => "regclass",
            Registry::Type => "regtype",
            Registry::Function => "regproc",
            Registry::Namespace => "regnamespace",
            Registry::Role => "regrole",
        })
    }
}

/// `(3)` behind the name of a type of times.
struct Digits(Option<u8>);

impl fmt::Display for Digits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(digits) => write!(formatter, "({digits})"),
            None => Ok(()),
        }
    }
}
