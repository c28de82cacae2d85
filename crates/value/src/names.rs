//! From the name of a type to the type, in both dialects.
//!
//! ```text
//!   "varchar", [20]     character varying(20)        "int4", []       integer
//!   "decimal", [10, 2]  numeric(10,2)                "tinyint", [1]   tinyint, MySQL's boolean
//! ```
//!
//! SERIAL and its kin are an integer with a sequence behind it: whoever defines tables knows them. Names of enumerations are in the
//! catalog, so they are looked up before these.

use crate::Dialect;
use crate::types::{IntegerWidth, Registry, SqlType};
use crate::{SqlError, SqlState};

impl SqlType {
    /// The type of a name and its numbers in parentheses; the name in lower case, words separated by one blank, `unsigned` and
    /// `[]` included where they are written.
    pub fn from_name(name: &str, numbers: &[u32], dialect: Dialect) -> Result<SqlType, SqlError> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        if let Some(element) = name.strip_suffix("[]") {
            return Ok(SqlType::Array(Box::new(SqlType::from_name(element.trim_end(), numbers, dialect)?)));
        }
        let found = match dialect {
            Dialect::Postgres => postgres(name, numbers)?,
            Dialect::MySql => mysql(name, numbers)?,
        };
        found.ok_or_else(|| SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")))
    }

    /// An integer of a width.
    pub(crate) fn integer(width: IntegerWidth, unsigned: bool) -> SqlType {
        SqlType::Integer { width, unsigned }
    }
}

fn postgres(name: &str, numbers: &[u32]) -> Result<Option<SqlType>, SqlError> {
    Ok(Some(match name {
        "boolean" | "bool" => SqlType::Boolean,
        "smallint" | "int2" => SqlType::SMALLINT,
        "integer" | "int" | "int4" => SqlType::INTEGER,
        "bigint" | "int8" => SqlType::BIGINT,
        "real" | "float4" => SqlType::Single,
        "double precision" | "float8" => SqlType::Double,
        "float" => float(numbers)?,
        "numeric" | "decimal" | "dec" => decimal(numbers, 1000)?,
        "text" => SqlType::TEXT,
        "name" => SqlType::Name,
        "\"char\"" => SqlType::Letter,
        "varchar" | "character varying" | "char varying" => {
            length(numbers)?.map_or(SqlType::VARYING, |length| SqlType::Text(Some(length)))
        }
        "char" | "character" => SqlType::Character(length(numbers)?.unwrap_or(1)),
        "bpchar" => length(numbers)?.map_or(SqlType::TEXT, SqlType::Character),
        "bytea" => SqlType::Bytes,
        "date" => SqlType::Date,
        "time" | "time without time zone" => SqlType::Time(digits(numbers)?),
        "timestamp" | "timestamp without time zone" => SqlType::Timestamp(digits(numbers)?),
        "timestamptz" | "timestamp with time zone" => SqlType::TimestampZoned(digits(numbers)?),
        "interval" => SqlType::Interval,
        "json" => SqlType::Json,
        "jsonb" => SqlType::JsonBinary,
        "uuid" => SqlType::Uuid,
        "oid" | "xid" | "cid" => SqlType::ObjectId,
        "regclass" => SqlType::Registered(Registry::Relation),
        "regtype" => SqlType::Registered(Registry::Type),
        "regproc" | "regprocedure" => SqlType::Registered(Registry::Function),
        "regnamespace" => SqlType::Registered(Registry::Namespace),
        "regrole" => SqlType::Registered(Registry::Role),
        "int2vector" => SqlType::Vector(Box::new(SqlType::SMALLINT)),
        "oidvector" => SqlType::Vector(Box::new(SqlType::ObjectId)),
        _ => return Ok(None),
    }))
}

fn mysql(name: &str, numbers: &[u32]) -> Result<Option<SqlType>, SqlError> {
    let (plain, unsigned) = match name.strip_suffix(" unsigned").or(name.strip_suffix(" unsigned zerofill")) {
        Some(plain) => (plain, true),
        None => (name.strip_suffix(" signed").unwrap_or(name), false),
    };
    Ok(Some(match plain {
        "boolean" | "bool" => SqlType::integer(IntegerWidth::Tiny, false),
        "tinyint" | "int1" => SqlType::integer(IntegerWidth::Tiny, unsigned),
        "smallint" | "int2" => SqlType::integer(IntegerWidth::Small, unsigned),
        "year" => SqlType::integer(IntegerWidth::Small, true),
        "mediumint" | "int3" => SqlType::integer(IntegerWidth::Medium, unsigned),
        "integer" | "int" | "int4" => SqlType::integer(IntegerWidth::Normal, unsigned),
        "bigint" | "int8" | "bit" => SqlType::integer(IntegerWidth::Big, unsigned),
        "unsigned" | "unsigned integer" => SqlType::integer(IntegerWidth::Big, true),
        "signed" | "signed integer" => SqlType::BIGINT,
        "float" | "float4" => SqlType::Single,
        "real" | "double" | "double precision" | "float8" => SqlType::Double,
        "numeric" | "decimal" | "dec" | "fixed" if numbers.is_empty() => SqlType::Decimal(Some((10, 0))),
        "numeric" | "decimal" | "dec" | "fixed" => decimal(numbers, 65)?,
        "text" | "tinytext" | "mediumtext" | "longtext" => SqlType::TEXT,
        "varchar" | "character varying" | "nvarchar" => SqlType::Text(length(numbers)?),
        "char" | "character" | "nchar" => SqlType::Character(length(numbers)?.unwrap_or(1)),
        "blob" | "tinyblob" | "mediumblob" | "longblob" | "binary" | "varbinary" => SqlType::Bytes,
        "date" => SqlType::Date,
        "time" => SqlType::Time(Some(digits(numbers)?.unwrap_or(0))),
        "datetime" | "timestamp" => SqlType::Timestamp(Some(digits(numbers)?.unwrap_or(0))),
        "json" => SqlType::Json,
        "uuid" => SqlType::Uuid,
        _ => return Ok(None),
    }))
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER, message)
}

fn float(numbers: &[u32]) -> Result<SqlType, SqlError> {
    match numbers {
        [] | [25..=53] => Ok(SqlType::Double),
        [1..=24] => Ok(SqlType::Single),
        _ => Err(invalid("precision for type float must be between 1 and 53 bits".to_owned())),
    }
}

fn decimal(numbers: &[u32], greatest: u32) -> Result<SqlType, SqlError> {
    let (precision, scale) = match numbers {
        [] => return Ok(SqlType::NUMERIC),
        [precision] => (*precision, 0),
        [precision, scale] => (*precision, *scale),
        _ => return Err(invalid("invalid NUMERIC type modifier".to_owned())),
    };
    if precision == 0 || precision > greatest {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and {greatest}")));
    }
    if scale > 1000 {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(SqlType::Decimal(Some((precision, scale as i32))))
}

fn length(numbers: &[u32]) -> Result<Option<u32>, SqlError> {
    match numbers {
        [] => Ok(None),
        [0] => Err(invalid("length for type varchar must be at least 1".to_owned())),
        [length, ..] => Ok(Some(*length)),
    }
}

fn digits(numbers: &[u32]) -> Result<Option<u8>, SqlError> {
    match numbers {
        [] => Ok(None),
        [digits] if *digits <= 6 => Ok(Some(*digits as u8)),
        _ => Err(invalid("the precision of a time is between 0 and 6".to_owned())),
    }
}
