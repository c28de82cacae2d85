//! The numbers that PostgreSQL has for types: what a client is told of a column, and what it says of a parameter.
//!
//! ```text
//!   varchar(20)      oid 1043, modifier 24       the length and four
//!   numeric(10,2)    oid 1700, modifier 655366   10 × 65536 + 2 and four
//!   integer[]        oid 1007                    the array type of 23
//! ```
//!
//! This is the one place that knows them: the protocol asks [`SqlType::oid`], and `pg_type` lists [`BUILT_IN`]. Types of the
//! catalog (enumerations) are numbered from [`FIRST_USER_OBJECT`] on; whoever keeps the catalog knows them.

use crate::types::{EnumerationId, IntegerWidth, Registry, SqlType};

/// The first number that is not PostgreSQL's own.
pub const FIRST_USER_OBJECT: u32 = 16_384;
/// How far the number of an enumeration's array type is from the enumeration's.
const USER_ARRAY: u32 = 3 << 26;

/// A type that every PostgreSQL has, also where it is none of ours.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its number.
    pub oid: u32,
    /// The number of arrays of it; 0 if there are none.
    pub array: u32,
    /// Its name.
    pub name: &'static str,
    /// How many bytes it has; -1 if they vary.
    pub length: i16,
    /// `typtype`, `typcategory`, `typalign` and `typstorage`, a letter each.
    pub letters: &'static str,
    /// The number and name of the function that reads it.
    pub input: (u32, &'static str),
}

const fn built_in(
    oid: u32,
    array: u32,
    name: &'static str,
    length: i16,
    letters: &'static str,
    input: (u32, &'static str),
) -> BuiltIn {
    BuiltIn { oid, array, name, length, letters, input }
}

/// PostgreSQL's types, by number.
#[rustfmt::skip]
pub const BUILT_IN: &[BuiltIn] = &[
    built_in(16, 1000, "bool", 1, "bBcp", (1242, "boolin")),
    built_in(17, 1001, "bytea", -1, "bUix", (1244, "byteain")),
    built_in(18, 1002, "char", 1, "bZcp", (1245, "charin")),
    built_in(19, 1003, "name", 64, "bScp", (34, "namein")),
    built_in(20, 1016, "int8", 8, "bNdp", (460, "int8in")),
    built_in(21, 1005, "int2", 2, "bNsp", (38, "int2in")),
    built_in(22, 1006, "int2vector", -1, "bAip", (40, "int2vectorin")),
    built_in(23, 1007, "int4", 4, "bNip", (42, "int4in")),
    built_in(24, 1008, "regproc", 4, "bNip", (44, "regprocin")),
    built_in(25, 1009, "text", -1, "bSix", (46, "textin")),
    built_in(26, 1028, "oid", 4, "bNip", (1798, "oidin")),
    built_in(27, 1010, "tid", 6, "bUsp", (48, "tidin")),
    built_in(28, 1011, "xid", 4, "bUip", (50, "xidin")),
    built_in(29, 1012, "cid", 4, "bUip", (52, "cidin")),
    built_in(30, 1013, "oidvector", -1, "bAip", (54, "oidvectorin")),
    built_in(114, 199, "json", -1, "bUix", (321, "json_in")),
    built_in(142, 143, "xml", -1, "bUix", (2893, "xml_in")),
    built_in(194, 0, "pg_node_tree", -1, "bZix", (195, "pg_node_tree_in")),
    built_in(600, 1017, "point", 16, "bGdp", (117, "point_in")),
    built_in(601, 1018, "lseg", 32, "bGdp", (119, "lseg_in")),
    built_in(602, 1019, "path", -1, "bGdx", (121, "path_in")),
    built_in(603, 1020, "box", 32, "bGdp", (123, "box_in")),
    built_in(604, 1027, "polygon", -1, "bGdx", (347, "poly_in")),
    built_in(628, 629, "line", 24, "bGdp", (1490, "line_in")),
    built_in(650, 651, "cidr", -1, "bIim", (1267, "cidr_in")),
    built_in(700, 1021, "float4", 4, "bNip", (200, "float4in")),
    built_in(701, 1022, "float8", 8, "bNdp", (214, "float8in")),
    built_in(705, 0, "unknown", -2, "pXcp", (109, "unknownin")),
    built_in(718, 719, "circle", 24, "bGdp", (1450, "circle_in")),
    built_in(774, 775, "macaddr8", 8, "bUip", (4110, "macaddr8_in")),
    built_in(790, 791, "money", 8, "bNdp", (886, "cash_in")),
    built_in(829, 1040, "macaddr", 6, "bUip", (436, "macaddr_in")),
    built_in(869, 1041, "inet", -1, "bIim", (910, "inet_in")),
    built_in(1033, 1034, "aclitem", 12, "bUip", (1031, "aclitemin")),
    built_in(1042, 1014, "bpchar", -1, "bSix", (1044, "bpcharin")),
    built_in(1043, 1015, "varchar", -1, "bSix", (1046, "varcharin")),
    built_in(1082, 1182, "date", 4, "bDip", (1084, "date_in")),
    built_in(1083, 1183, "time", 8, "bDdp", (1143, "time_in")),
    built_in(1114, 1115, "timestamp", 8, "bDdp", (1312, "timestamp_in")),
    built_in(1184, 1185, "timestamptz", 8, "bDdp", (1150, "timestamptz_in")),
    built_in(1186, 1187, "interval", 16, "bTdp", (1160, "interval_in")),
    built_in(1266, 1270, "timetz", 12, "bDdp", (1350, "timetz_in")),
    built_in(1560, 1561, "bit", -1, "bVix", (1564, "bit_in")),
    built_in(1562, 1563, "varbit", -1, "bVix", (1579, "varbit_in")),
    built_in(1700, 1231, "numeric", -1, "bNim", (1701, "numeric_in")),
    built_in(1790, 2201, "refcursor", -1, "bUix", (46, "textin")),
    built_in(2202, 2207, "regprocedure", 4, "bNip", (2212, "regprocedurein")),
    built_in(2203, 2208, "regoper", 4, "bNip", (2214, "regoperin")),
    built_in(2204, 2209, "regoperator", 4, "bNip", (2216, "regoperatorin")),
    built_in(2205, 2210, "regclass", 4, "bNip", (2218, "regclassin")),
    built_in(2206, 2211, "regtype", 4, "bNip", (2220, "regtypein")),
    built_in(2249, 2287, "record", -1, "pPdx", (2290, "record_in")),
    built_in(2275, 1263, "cstring", -2, "pPcp", (2292, "cstring_in")),
    built_in(2276, 0, "any", 4, "pPip", (2294, "any_in")),
    built_in(2277, 0, "anyarray", -1, "pPdx", (2296, "anyarray_in")),
    built_in(2278, 0, "void", 4, "pPip", (2298, "void_in")),
    built_in(2283, 0, "anyelement", 4, "pPip", (2312, "anyelement_in")),
    built_in(2776, 0, "anynonarray", 4, "pPip", (2777, "anynonarray_in")),
    built_in(2950, 2951, "uuid", 16, "bUcp", (2952, "uuid_in")),
    built_in(3220, 3221, "pg_lsn", 8, "bUdp", (3229, "pg_lsn_in")),
    built_in(3500, 0, "anyenum", 4, "pPip", (3504, "anyenum_in")),
    built_in(3614, 3643, "tsvector", -1, "bUix", (3610, "tsvectorin")),
    built_in(3615, 3645, "tsquery", -1, "bUip", (3612, "tsqueryin")),
    built_in(3734, 3735, "regconfig", 4, "bNip", (3736, "regconfigin")),
    built_in(3769, 3770, "regdictionary", 4, "bNip", (3771, "regdictionaryin")),
    built_in(3802, 3807, "jsonb", -1, "bUix", (3806, "jsonb_in")),
    built_in(3831, 0, "anyrange", -1, "pPdx", (3832, "anyrange_in")),
    built_in(3904, 3905, "int4range", -1, "rRix", (3834, "range_in")),
    built_in(3906, 3907, "numrange", -1, "rRix", (3834, "range_in")),
    built_in(3908, 3909, "tsrange", -1, "rRdx", (3834, "range_in")),
    built_in(3910, 3911, "tstzrange", -1, "rRdx", (3834, "range_in")),
    built_in(3912, 3913, "daterange", -1, "rRix", (3834, "range_in")),
    built_in(3926, 3927, "int8range", -1, "rRdx", (3834, "range_in")),
    built_in(4072, 4073, "jsonpath", -1, "bUix", (4001, "jsonpath_in")),
    built_in(4089, 4090, "regnamespace", 4, "bNip", (4084, "regnamespacein")),
    built_in(4096, 4097, "regrole", 4, "bNip", (4098, "regrolein")),
    built_in(4191, 4192, "regcollation", 4, "bNip", (4193, "regcollationin")),
    built_in(4451, 6150, "int4multirange", -1, "mRix", (4231, "multirange_in")),
    built_in(4532, 6151, "nummultirange", -1, "mRix", (4231, "multirange_in")),
    built_in(4533, 6152, "tsmultirange", -1, "mRdx", (4231, "multirange_in")),
    built_in(4534, 6153, "tstzmultirange", -1, "mRdx", (4231, "multirange_in")),
    built_in(4535, 6155, "datemultirange", -1, "mRix", (4231, "multirange_in")),
    built_in(4536, 6157, "int8multirange", -1, "mRdx", (4231, "multirange_in")),
    built_in(4537, 0, "anymultirange", -1, "pPdx", (4229, "anymultirange_in")),
    built_in(4538, 0, "anycompatiblemultirange", -1, "pPdx", (4226, "anycompatiblemultirange_in")),
    built_in(5069, 271, "xid8", 8, "bUdp", (5070, "xid8in")),
    built_in(5077, 0, "anycompatible", 4, "pPip", (5086, "anycompatible_in")),
    built_in(5078, 0, "anycompatiblearray", -1, "pPdx", (5088, "anycompatiblearray_in")),
    built_in(5079, 0, "anycompatiblenonarray", 4, "pPip", (5092, "anycompatiblenonarray_in")),
    built_in(5080, 0, "anycompatiblerange", -1, "pPdx", (5094, "anycompatiblerange_in")),
];

impl BuiltIn {
    /// The built-in type of a number.
    pub fn find(oid: u32) -> Option<&'static BuiltIn> {
        BUILT_IN.binary_search_by_key(&oid, |one| one.oid).ok().map(|place| &BUILT_IN[place])
    }

    /// The built-in type whose arrays have a number.
    pub fn of_array(oid: u32) -> Option<&'static BuiltIn> {
        BUILT_IN.iter().find(|one| one.array == oid && oid != 0)
    }
}

impl SqlType {
    /// Its number, as clients are told it.
    pub fn oid(&self) -> u32 {
        match self {
            SqlType::Boolean => 16,
            SqlType::Bytes => 17,
            SqlType::Letter => 18,
            SqlType::Name => 19,
            SqlType::Integer { width: IntegerWidth::Big, .. } => 20,
            SqlType::Integer { width: IntegerWidth::Tiny | IntegerWidth::Small, .. } => 21,
            SqlType::Integer { width: IntegerWidth::Medium | IntegerWidth::Normal, .. } => 23,
            SqlType::Vector(element) if **element == SqlType::ObjectId => 30,
            SqlType::Vector(_) => 22,
            SqlType::Text(None) => 25,
            SqlType::ObjectId => 26,
            SqlType::Json => 114,
            SqlType::Single => 700,
            SqlType::Double => 701,
            SqlType::Unknown => 705,
            SqlType::Character(_) => 1042,
            SqlType::Text(Some(_)) => 1043,
            SqlType::Date => 1082,
            SqlType::Time(_) => 1083,
            SqlType::Timestamp(_) => 1114,
            SqlType::TimestampZoned(_) => 1184,
            SqlType::Interval => 1186,
            SqlType::Decimal(_) => 1700,
            SqlType::Registered(registry) => registry.oid(),
            SqlType::Record(_) => 2249,
            SqlType::Void => 2278,
            SqlType::Uuid => 2950,
            SqlType::JsonBinary => 3802,
            SqlType::Enumeration(EnumerationId(number)) => FIRST_USER_OBJECT + number,
            SqlType::Array(element) => array_oid(element),
        }
    }

    /// What bounds it, as clients are told it: -1 where nothing does.
    pub fn typmod(&self) -> i32 {
        let short = |number: u32| i32::try_from(number).unwrap_or(-1);
        match self {
            SqlType::Text(Some(u32::MAX)) => -1,
            SqlType::Text(Some(length)) | SqlType::Character(length) => short(length.saturating_add(4)),
            SqlType::Decimal(Some((precision, scale))) => (short(*precision) << 16 | (scale & 0x7ff)) + 4,
            SqlType::Time(Some(digits)) | SqlType::Timestamp(Some(digits)) | SqlType::TimestampZoned(Some(digits)) => {
                i32::from(*digits)
            }
            SqlType::Array(element) => element.typmod(),
            _ => -1,
        }
    }

    /// How many bytes a value has; -1 where that varies.
    pub fn typlen(&self) -> i16 {
        match self {
            SqlType::Enumeration(_) => 4,
            other => BuiltIn::find(other.oid()).map_or(-1, |found| found.length),
        }
    }

    /// The built-in type of a number, without bounds; nothing if it is none of ours.
    pub fn from_oid(oid: u32) -> Option<SqlType> {
        Some(match oid {
            16 => SqlType::Boolean,
            17 => SqlType::Bytes,
            18 => SqlType::Letter,
            19 => SqlType::Name,
            20 => SqlType::BIGINT,
            21 => SqlType::SMALLINT,
            22 => SqlType::Vector(Box::new(SqlType::SMALLINT)),
            23 => SqlType::INTEGER,
            25 => SqlType::TEXT,
            26 => SqlType::ObjectId,
            30 => SqlType::Vector(Box::new(SqlType::ObjectId)),
            114 => SqlType::Json,
            700 => SqlType::Single,
            701 => SqlType::Double,
            705 | 0 => SqlType::Unknown,
            1042 => SqlType::TEXT,
            1043 => SqlType::VARYING,
            1082 => SqlType::Date,
            1083 => SqlType::TIME,
            1114 => SqlType::TIMESTAMP,
            1184 => SqlType::TIMESTAMPTZ,
            1186 => SqlType::Interval,
            1700 => SqlType::NUMERIC,
            2278 => SqlType::Void,
            2950 => SqlType::Uuid,
            3802 => SqlType::JsonBinary,
            other => match Registry::from_oid(other) {
                Some(registry) => SqlType::Registered(registry),
                None => SqlType::Array(Box::new(SqlType::from_oid(BuiltIn::of_array(other)?.oid)?)),
            },
        })
    }
}

fn array_oid(element: &SqlType) -> u32 {
    let element = element.oid();
    BuiltIn::find(element).map_or(element + USER_ARRAY, |found| found.array)
}

impl Registry {
    const ALL: [Registry; 5] =
        [Registry::Relation, Registry::Type, Registry::Function, Registry::Namespace, Registry::Role];

    fn oid(self) -> u32 {
        match self {
            Registry::Function => 24,
            Registry::Relation => 2205,
            Registry::Type => 2206,
            Registry::Namespace => 4089,
            Registry::Role => 4096,
        }
    }

    fn from_oid(oid: u32) -> Option<Registry> {
        Registry::ALL.into_iter().find(|registry| registry.oid() == oid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_types_are_in_the_order_of_their_numbers() {
        assert!(BUILT_IN.windows(2).all(|pair| pair[0].oid < pair[1].oid));
        assert!(BUILT_IN.iter().all(|one| one.letters.len() == 4));
    }

    #[test]
    fn a_type_is_found_again_by_its_number() {
        for one in BUILT_IN {
            if let Some(sql_type) = SqlType::from_oid(one.oid).filter(|_| one.name != "bpchar") {
                assert_eq!(sql_type.oid(), one.oid, "{}", one.name);
                let array = SqlType::Array(Box::new(sql_type));
                assert_eq!(array.oid(), one.array, "{}[]", one.name);
            }
        }
    }

    #[test]
    fn bounds_are_told_as_postgres_tells_them() {
        assert_eq!(SqlType::Text(Some(20)).typmod(), 24);
        assert_eq!(SqlType::VARYING.typmod(), -1);
        assert_eq!(SqlType::Decimal(Some((10, 2))).typmod(), 655_366);
        assert_eq!(SqlType::TIMESTAMPTZ.typmod(), -1);
    }
}
