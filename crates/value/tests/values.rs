//! Expressions and the values that PostgreSQL 15 and MySQL 8 give for them, as tables.
//!
//! ```text
//!   call              arguments                     answer
//!   / (operator)      numeric:1  numeric:3          numeric|0.33333333333333333333
//!   left (function)   text:alphabet  integer:-3     text|alpha
//! ```

use skew_value::function::{self, Environment};
use skew_value::{CastKind, Collation, Datum, Dialect, GroupKey, SqlError, SqlType, cast, input, output};

/// `type:text`; `\N` is NULL, and a type of `unknown` an untyped literal.
fn argument(written: &str, dialect: Dialect) -> Result<(SqlType, Datum), SqlError> {
    let (name, text) = written.split_once(':').expect("a type and a text");
    let sql_type = if name == "unknown" { SqlType::Unknown } else { SqlType::from_name(name, &[], dialect)? };
    let datum = match text {
        "\\N" => Datum::Null,
        _ => cast(&Datum::text(text), &SqlType::Unknown, &sql_type, CastKind::Explicit, dialect)?,
    };
    Ok((sql_type, datum))
}

fn evaluate(call: &str, written: &[&str], dialect: Dialect) -> Result<String, SqlError> {
    let arguments: Vec<(SqlType, Datum)> =
        written.iter().map(|one| argument(one, dialect)).collect::<Result<_, _>>()?;
    let types: Vec<SqlType> = arguments.iter().map(|(sql_type, _)| sql_type.clone()).collect();
    let routine = function::operator(call, &types, dialect).or_else(|_| function::scalar(call, &types, dialect))?;
    let cast = |((from, datum), to): (&(SqlType, Datum), &SqlType)| cast(datum, from, to, CastKind::Implicit, dialect);
    let values: Vec<Datum> = arguments.iter().zip(&routine.parameters).map(cast).collect::<Result<_, _>>()?;
    let answer = routine.call(&values, &Environment::new(dialect, 1_704_067_200_000_000, 7))?;
    Ok(format!("{}|{}", routine.result, output(&answer, &routine.result, dialect)))
}

fn assert_table(table: &[(&str, &[&str], &str)], dialect: Dialect) {
    let mut wrong = Vec::new();
    for (call, arguments, expected) in table {
        let found = evaluate(call, arguments, dialect).unwrap_or_else(|error| format!("error {}", error.state.0));
        if found != *expected {
            wrong.push(format!("{call} {arguments:?}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arithmetic_of_postgres_keeps_types_and_scales() {
    assert_table(
        &[
            ("/", &["integer:7", "integer:2"], "integer|3"),
            ("%", &["integer:-7", "integer:2"], "integer|-1"),
            ("/", &["integer:7", "integer:0"], "error 22012"),
            ("+", &["integer:2147483647", "integer:1"], "error 22003"),
            ("+", &["integer:2147483647", "bigint:1"], "bigint|2147483648"),
            ("+", &["integer:1", "real:1.5"], "double precision|2.5"),
            ("/", &["numeric:1", "numeric:3"], "numeric|0.33333333333333333333"),
            ("/", &["numeric:10000", "numeric:3"], "numeric|3333.3333333333333333"),
            ("*", &["numeric:1.00", "numeric:3.000"], "numeric|3.00000"),
            ("+", &["numeric:0.00", "numeric:1.5"], "numeric|1.50"),
            ("^", &["integer:2", "integer:10"], "double precision|1024"),
            ("^", &["numeric:2", "numeric:3"], "numeric|8.0000000000000000"),
            ("round", &["numeric:2.5"], "numeric|3"),
            ("round", &["double precision:2.5"], "double precision|2"),
            ("sqrt", &["numeric:2"], "numeric|1.414213562373095"),
            ("+", &["integer:1", "unknown:5"], "integer|6"),
        ],
        Dialect::Postgres,
    );
}

#[test]
fn comparison_of_postgres_follows_the_types() {
    assert_table(
        &[
            ("=", &["integer:1", "numeric:1.0"], "boolean|t"),
            ("=", &["real:1.1", "double precision:1.1"], "boolean|f"),
            ("=", &["double precision:NaN", "double precision:NaN"], "boolean|t"),
            ("=", &["integer:1", "text:1"], "error 42883"),
            ("<", &["text:a", "text:B"], "boolean|f"),
            ("=", &["interval:1 month", "interval:30 days"], "boolean|t"),
            ("=", &["jsonb:1", "jsonb:1.0"], "boolean|t"),
            ("=", &["json:1", "json:1"], "error 42883"),
            ("=", &["integer:\\N", "integer:1"], "boolean|"),
            ("is distinct from", &["integer:\\N", "integer:1"], "boolean|t"),
        ],
        Dialect::Postgres,
    );
}

#[test]
fn texts_and_patterns_of_postgres() {
    assert_table(
        &[
            ("||", &["text:a", "boolean:t"], "text|atrue"),
            ("||", &["text[]:{a}", "text:b"], "text[]|{a,b}"),
            ("like", &["text:abc", "text:A%"], "boolean|f"),
            ("ilike", &["text:abc", "text:A%"], "boolean|t"),
            ("like", &["text:a%c", "text:a!%c", "text:!"], "boolean|t"),
            ("~", &["text:foo bar", "text:\\mbar\\M"], "boolean|t"),
            ("similar to", &["text:abc", "text:%(b|d)%"], "boolean|t"),
            ("left", &["text:alphabet", "integer:-3"], "text|alpha"),
            ("substring", &["text:alphabet", "integer:-1", "integer:5"], "text|alp"),
            ("split_part", &["text:a,b,c", "text:,", "integer:-1"], "text|c"),
            ("repeat", &["text:abcd", "integer:2000000000"], "error 54000"),
            ("concat", &["text:a", "integer:\\N", "boolean:t"], "text|at"),
            ("md5", &["text:a"], "text|0cc175b9c0f1b6a831c399e269772661"),
            ("regexp_replace", &["text:foobarbaz", "text:b(..)", "text:[\\1]", "text:g"], "text|foo[ar][az]"),
        ],
        Dialect::Postgres,
    );
}

#[test]
fn dates_and_intervals_of_postgres() {
    assert_table(
        &[
            ("+", &["date:2024-01-31", "interval:1 mon"], "timestamp without time zone|2024-02-29 00:00:00"),
            ("-", &["date:2024-01-31", "date:2023-12-25"], "integer|37"),
            ("-", &["timestamp:2024-01-31 10:00", "timestamp:2024-01-01 12:00"], "interval|29 days 22:00:00"),
            ("*", &["interval:1 month", "double precision:0.1"], "interval|3 days"),
            ("age", &["timestamp:2001-04-10", "timestamp:1957-06-13"], "interval|43 years 9 mons 27 days"),
            (
                "date_trunc",
                &["unknown:week", "timestamp:2024-01-31 10:00"],
                "timestamp without time zone|2024-01-29 00:00:00",
            ),
            ("extract", &["unknown:epoch", "interval:1 day"], "numeric|86400.000000"),
            ("to_char", &["timestamp:2024-01-31 10:20", "unknown:FMDay, DD Mon YYYY"], "text|Wednesday, 31 Jan 2024"),
            ("to_char", &["numeric:1234.5", "unknown:FM9,999.00"], "text|1,234.50"),
            ("make_date", &["integer:2023", "integer:2", "integer:29"], "error 22008"),
        ],
        Dialect::Postgres,
    );
}

#[test]
fn documents_and_arrays_of_postgres() {
    assert_table(
        &[
            ("->>", &["jsonb:{\"a\": [1, \"x\"]}", "unknown:a"], "text|[1, \"x\"]"),
            ("->", &["json:{\"a\":[1,2]}", "unknown:a"], "json|[1,2]"),
            ("#>>", &["jsonb:{\"a\": [1, \"x\"]}", "unknown:{a,1}"], "text|x"),
            ("@>", &["jsonb:[1, 2]", "jsonb:1"], "boolean|t"),
            ("jsonb_set", &["jsonb:{\"a\":1}", "unknown:{b}", "jsonb:2"], "jsonb|{\"a\": 1, \"b\": 2}"),
            ("json_build_object", &["text:a", "integer:1"], "json|{\"a\" : 1}"),
            ("@>", &["integer[]:{1,2,3}", "integer[]:{1}"], "boolean|t"),
            ("array_to_string", &["integer[]:{1,NULL,3}", "unknown:,", "unknown:*"], "text|1,*,3"),
        ],
        Dialect::Postgres,
    );
}

#[test]
fn mysql_converts_forgives_and_ignores_case() {
    assert_table(
        &[
            ("/", &["int:7", "int:2"], "numeric|3.5000"),
            ("/", &["int:7", "int:0"], "numeric|"),
            ("div", &["int:7", "int:2"], "bigint|3"),
            ("+", &["int:1", "varchar:2abc"], "double precision|3"),
            ("=", &["int:5", "unknown:5"], "boolean|1"),
            ("=", &["varchar:Straße", "varchar:STRASSE"], "boolean|1"),
            ("=", &["varchar:a", "unknown:Á"], "boolean|1"),
            ("||", &["int:0", "int:1"], "boolean|1"),
            ("like", &["varchar:abc", "unknown:A%"], "boolean|1"),
            ("<=>", &["int:\\N", "int:\\N"], "boolean|1"),
            ("concat", &["varchar:a", "int:1"], "text|a1"),
            ("concat", &["varchar:a", "int:\\N"], "text|"),
            ("ifnull", &["int:\\N", "int:3"], "integer|3"),
            ("date_add", &["unknown:2024-01-31", "unknown:\\N"], "text|"),
            ("date_format", &["unknown:2024-01-31 10:20:30", "unknown:%W %e %H:%i"], "text|Wednesday 31 10:20"),
            ("datediff", &["unknown:2024-01-31", "unknown:2024-01-01"], "bigint|30"),
            ("locate", &["unknown:B", "unknown:abc"], "integer|2"),
        ],
        Dialect::MySql,
    );
}

#[test]
fn storing_is_stricter_than_casting() {
    let store = |text: &str, to: SqlType, kind| cast(&Datum::text(text), &SqlType::TEXT, &to, kind, Dialect::Postgres);
    let long = store("abcdef", SqlType::Text(Some(3)), CastKind::Assignment).unwrap_err();
    assert_eq!(long.state.0, "22001");
    assert_eq!(store("abcdef", SqlType::Text(Some(3)), CastKind::Explicit), Ok(Datum::text("abc")));
    assert_eq!(store("abc  ", SqlType::Text(Some(3)), CastKind::Assignment), Ok(Datum::text("abc")));
    let padded = store("ab", SqlType::Character(4), CastKind::Assignment).unwrap();
    assert_eq!(output(&padded, &SqlType::Character(4), Dialect::Postgres), "ab  ");
    let price = SqlType::Decimal(Some((5, 2)));
    let overflow = store("1234.5", price, CastKind::Assignment).unwrap_err();
    assert_eq!(overflow.state.0, "22003");
}

#[test]
fn what_compares_equal_is_one_group() {
    let key = |datum: &Datum| GroupKey::new(datum, Collation::Bytes);
    let decimal = |text: &str| input(text, &SqlType::NUMERIC, Dialect::Postgres).unwrap();
    assert_eq!(key(&Datum::Integer(1)), key(&decimal("1.00")));
    assert_eq!(key(&Datum::Integer(1)), key(&Datum::Real(1.0)));
    assert_eq!(key(&Datum::Real(-0.0)), key(&Datum::Real(0.0)));
    assert_eq!(key(&Datum::Real(f64::NAN)), key(&Datum::Real(f64::NAN)));
    assert_eq!(key(&Datum::Null), key(&Datum::Null));
    assert_eq!(key(&Datum::Real(1e30)), key(&decimal("1000000000000000019884624838656")));
    assert!(key(&Datum::Real(0.1)) > key(&decimal("0.1")));
    assert_eq!(
        GroupKey::new(&Datum::text("A"), Collation::Folded),
        GroupKey::new(&Datum::text("a"), Collation::Folded)
    );
}

#[test]
fn aggregates_have_the_types_of_postgres() {
    let run = |name: &str, sql_type: SqlType, values: &[Datum], distinct: bool| {
        let aggregate = function::aggregate(name, &[sql_type], distinct, Dialect::Postgres).unwrap();
        let mut group = aggregate.accumulator(skew_value::Zone::Utc);
        for one in values {
            group.add(std::slice::from_ref(one)).unwrap();
        }
        let answer = group.finish().unwrap();
        format!("{}|{}", aggregate.result, output(&answer, &aggregate.result, Dialect::Postgres))
    };
    let numbers = [Datum::Integer(1), Datum::Integer(2), Datum::Null, Datum::Integer(2), Datum::Integer(4)];
    assert_eq!(run("sum", SqlType::INTEGER, &numbers, false), "bigint|9");
    assert_eq!(run("sum", SqlType::BIGINT, &numbers, true), "numeric|7");
    assert_eq!(run("avg", SqlType::INTEGER, &numbers, false), "numeric|2.2500000000000000");
    assert_eq!(run("count", SqlType::INTEGER, &numbers, true), "bigint|3");
    assert_eq!(run("array_agg", SqlType::INTEGER, &numbers, false), "integer[]|{1,2,NULL,2,4}");
    assert_eq!(run("sum", SqlType::INTEGER, &[], false), "bigint|");
    let series = function::table("generate_series", &[SqlType::INTEGER, SqlType::INTEGER], Dialect::Postgres).unwrap();
    let environment = Environment::new(Dialect::Postgres, 0, 0);
    assert_eq!(series.call(&[Datum::Integer(1), Datum::Integer(3)], &environment).unwrap().len(), 3);
    assert!(series.call(&[Datum::Integer(1), Datum::Integer(1 << 31)], &environment).is_err());
}
