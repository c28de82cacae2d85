//! sqlx: queries checked when they run, everything binary and prepared, a pool of one connection, nested transactions, migrations' locks.

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Column as _, Connection as _, Executor as _, FromRow as _, Row as _, SqlSafeStr as _, Statement as _};
use std::error::Error;
use std::str::FromStr as _;
use uuid::Uuid;

type Outcome = Result<(), Box<dyn Error>>;

async fn schema(pool: &PgPool) -> Outcome {
    pool.execute(
        "CREATE TYPE colour AS ENUM ('red', 'green');
         CREATE TABLE thing (
             id bigserial PRIMARY KEY, words varchar(50) NOT NULL, money numeric(12, 2), day date, instant timestamptz DEFAULT now(),
             flag bool NOT NULL DEFAULT false, ratio real, blob bytea, body jsonb, token uuid UNIQUE, names text[], colour colour);
         CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)",
    )
    .await?;
    Ok(())
}

async fn every_type(pool: &PgPool) -> Outcome {
    let money = Decimal::new(999_999_999_999, 2);
    let day = NaiveDate::from_ymd_opt(1752, 9, 14).ok_or("a day")?;
    let instant = DateTime::from_timestamp_micros(1_700_000_000_123_456).ok_or("an instant")?;
    let (body, token, names) =
        (json!({"k": [true, null]}), Uuid::from_u128(u128::MAX), vec!["a".to_owned(), "b c".to_owned()]);
    let insert = "INSERT INTO thing (words, money, day, instant, flag, ratio, blob, body, token, names) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id";
    let question =
        sqlx::query_scalar(insert).bind("Ωμέγα 🐚").bind(money).bind(day).bind(instant).bind(true).bind(0.5_f32);
    let id: i64 = question.bind(vec![0_u8, 255]).bind(&body).bind(token).bind(&names).fetch_one(pool).await?;
    assert_eq!(id, 1);
    let row = sqlx::query("SELECT * FROM thing WHERE id = $1").bind(id).fetch_one(pool).await?;
    assert_eq!(row.try_get::<String, _>("words")?, "Ωμέγα 🐚");
    assert_eq!(row.try_get::<Decimal, _>("money")?, money);
    assert_eq!(row.try_get::<NaiveDate, _>("day")?, day);
    assert_eq!(row.try_get::<DateTime<Utc>, _>("instant")?, instant);
    assert!(row.try_get::<bool, _>("flag")?);
    assert_eq!(row.try_get::<f32, _>("ratio")?, 0.5);
    assert_eq!(row.try_get::<Vec<u8>, _>("blob")?, [0, 255]);
    assert_eq!(row.try_get::<Value, _>("body")?, body);
    assert_eq!(row.try_get::<Uuid, _>("token")?, token);
    assert_eq!(row.try_get::<Vec<String>, _>("names")?, names);
    sqlx::query("INSERT INTO thing (words, day, colour) VALUES ($1, $2, 'green')")
        .bind("")
        .bind(None::<NaiveDate>)
        .execute(pool)
        .await?;
    let empty =
        sqlx::query("SELECT day, money, blob, colour::text FROM thing WHERE words = ''").fetch_one(pool).await?;
    assert_eq!(empty.try_get::<Option<NaiveDate>, _>(0)?, None);
    assert_eq!(empty.try_get::<Option<Decimal>, _>(1)?, None);
    assert_eq!(empty.try_get::<Option<Vec<u8>>, _>(2)?, None);
    assert_eq!(empty.try_get::<String, _>(3)?, "green");
    Ok(())
}

async fn statements(pool: &PgPool) -> Outcome {
    let inserted = sqlx::query("INSERT INTO account SELECT * FROM UNNEST($1::int[], $2::bigint[])");
    let done = inserted.bind((1..=10).collect::<Vec<i32>>()).bind(vec![100_i64; 10]).execute(pool).await?;
    assert_eq!(done.rows_affected(), 10);
    for id in 1..=10 {
        let row = sqlx::query("SELECT id, balance FROM account WHERE id = $1").bind(id).fetch_one(pool).await?;
        assert_eq!(<(i32, i64)>::from_row(&row)?, (id, 100));
    }
    let prepared = pool.prepare("SELECT id, balance * $1 AS many FROM account".into_sql_str()).await?;
    assert_eq!(prepared.columns().iter().map(|column| column.name()).collect::<Vec<_>>(), ["id", "many"]);
    let some: Vec<(i32,)> = sqlx::query_as("SELECT id FROM account WHERE id = ANY($1) ORDER BY id DESC")
        .bind(vec![3, 9, 70])
        .fetch_all(pool)
        .await?;
    assert_eq!(some, [(9,), (3,)]);
    let upsert = "INSERT INTO account VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET balance = account.balance + excluded.balance RETURNING balance";
    assert_eq!(sqlx::query_scalar::<_, i64>(upsert).bind(1).fetch_one(pool).await?, 101);
    Ok(())
}

async fn transactions(pool: &PgPool) -> Outcome {
    let mut transaction = pool.begin().await?;
    sqlx::query("UPDATE account SET balance = 0").execute(&mut *transaction).await?;
    drop(transaction);
    let mut transaction = pool.begin().await?;
    let mut inner = transaction.begin().await?;
    let refused = sqlx::query("INSERT INTO account VALUES (1, 0)").execute(&mut *inner).await.expect_err("a key twice");
    let error = refused.as_database_error().ok_or("an error of the database")?;
    assert!(error.is_unique_violation() && error.constraint() == Some("account_pkey"));
    inner.rollback().await?;
    let balance: i64 =
        sqlx::query_scalar("SELECT balance FROM account WHERE id = 2 FOR UPDATE").fetch_one(&mut *transaction).await?;
    sqlx::query("UPDATE account SET balance = $1 WHERE id = 2").bind(balance + 9).execute(&mut *transaction).await?;
    transaction.commit().await?;
    let total: Decimal = sqlx::query_scalar("SELECT sum(balance) FROM account").fetch_one(pool).await?;
    assert_eq!(total, Decimal::from(1010));
    let lost = sqlx::query("SELECT * FROM nowhere").fetch_one(pool).await.expect_err("no such table");
    assert_eq!(lost.as_database_error().and_then(|error| error.code()).as_deref(), Some("42P01"));
    Ok(())
}

async fn copies(pool: &PgPool) -> Outcome {
    let mut connection = pool.acquire().await?;
    let mut copy = connection.copy_in_raw("COPY account FROM STDIN WITH (FORMAT csv)").await?;
    copy.send("20,5\n21,6\n".as_bytes()).await?;
    assert_eq!(copy.finish().await?, 2);
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM account WHERE id >= 20").fetch_one(&mut *connection).await?;
    assert_eq!(count, 2);
    sqlx::query("SELECT pg_advisory_lock(1)").execute(&mut *connection).await?;
    sqlx::query("SELECT pg_advisory_unlock(1)").execute(&mut *connection).await?;
    connection.ping().await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let options = PgConnectOptions::from_str(&std::env::var("DATABASE_URL")?)?.application_name("sqlx");
    let pool = PgPoolOptions::new().max_connections(1).connect_with(options).await?;
    schema(&pool).await?;
    every_type(&pool).await?;
    statements(&pool).await?;
    transactions(&pool).await?;
    copies(&pool).await?;
    pool.close().await;
    println!("ok sqlx");
    Ok(())
}
