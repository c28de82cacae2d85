//! tokio-postgres: every statement is prepared, every value binary; pipelines, portals, COPY, savepoints, SQLSTATEs.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use futures_util::{SinkExt, StreamExt, TryStreamExt, pin_mut};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::error::Error;
use std::io::Cursor;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use uuid::Uuid;

type Outcome = Result<(), Box<dyn Error>>;

const COLUMNS: &str = "id int PRIMARY KEY, words text, large bigint, money numeric(12, 3), day date, stamp timestamp, instant timestamptz, \
    flag bool, ratio float8, blob bytea, body jsonb, token uuid, numbers int[]";

async fn every_type(client: &Client) -> Outcome {
    client.batch_execute(&format!("CREATE TABLE thing ({COLUMNS})")).await?;
    let money = Decimal::new(-123_456_789, 3);
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).ok_or("a day")?;
    let stamp = day.and_hms_micro_opt(23, 59, 59, 123_456).ok_or("a time")?;
    let instant = DateTime::from_timestamp(1_700_000_000, 0).ok_or("an instant")?;
    let (blob, body, token) = (vec![0_u8, 255, 128], json!({"a": [1, null, "ß"]}), Uuid::from_u128(7));
    let insert =
        client.prepare("INSERT INTO thing VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)").await?;
    let changed = client
        .execute(
            &insert,
            &[
                &1,
                &"Țară 🌍",
                &i64::MIN,
                &money,
                &day,
                &stamp,
                &instant,
                &true,
                &0.1,
                &blob,
                &body,
                &token,
                &vec![1, 2],
            ],
        )
        .await?;
    assert_eq!(changed, 1);
    client.execute("INSERT INTO thing (id) VALUES ($1)", &[&2]).await?;
    let row = client.query_one("SELECT * FROM thing WHERE id = $1", &[&1]).await?;
    assert_eq!(row.get::<_, String>("words"), "Țară 🌍");
    assert_eq!(row.get::<_, i64>("large"), i64::MIN);
    assert_eq!(row.get::<_, Decimal>("money"), money);
    assert_eq!(row.get::<_, NaiveDate>("day"), day);
    assert_eq!(row.get::<_, NaiveDateTime>("stamp"), stamp);
    assert_eq!(row.get::<_, DateTime<Utc>>("instant"), instant);
    assert!(row.get::<_, bool>("flag"));
    assert_eq!(row.get::<_, f64>("ratio"), 0.1);
    assert_eq!(row.get::<_, Vec<u8>>("blob"), blob);
    assert_eq!(row.get::<_, Value>("body"), body);
    assert_eq!(row.get::<_, Uuid>("token"), token);
    assert_eq!(row.get::<_, Vec<i32>>("numbers"), [1, 2]);
    let empty = client.query_one("SELECT words, money, numbers FROM thing WHERE id = 2", &[]).await?;
    assert_eq!(empty.get::<_, Option<String>>(0), None);
    assert_eq!(empty.get::<_, Option<Decimal>>(1), None);
    assert_eq!(empty.get::<_, Option<Vec<i32>>>(2), None);
    Ok(())
}

async fn statements(client: &Client) -> Outcome {
    let typed = client.prepare_typed("SELECT $1, id + $2 FROM thing ORDER BY id", &[Type::TEXT, Type::INT4]).await?;
    assert_eq!(typed.columns().iter().map(|column| column.type_()).collect::<Vec<_>>(), [&Type::TEXT, &Type::INT4]);
    let rows = client.query(&typed, &[&"x", &10]).await?;
    assert_eq!(rows.iter().map(|row| row.get::<_, i32>(1)).collect::<Vec<_>>(), [11, 12]);
    // Two questions under way at once go down one connection as a pipeline.
    let some = vec![1, 5];
    let parameters: [&(dyn ToSql + Sync); 1] = [&some];
    let (one, two) = tokio::join!(
        client.query_one("SELECT count(*) FROM thing", &[]),
        client.query_one("SELECT max(id) FROM thing WHERE id = ANY($1)", &parameters),
    );
    assert_eq!((one?.get::<_, i64>(0), two?.get::<_, Option<i32>>(0)), (2, Some(1)));
    let messages = client.simple_query("SELECT id FROM thing ORDER BY id; DELETE FROM thing WHERE id = 99").await?;
    let rows = messages.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_)));
    assert_eq!(rows.count(), 2);
    assert!(client.query_opt("SELECT 1 FROM thing WHERE id = 77", &[]).await?.is_none());
    Ok(())
}

async fn transactions(client: &mut Client) -> Outcome {
    client
        .batch_execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0))")
        .await?;
    let transaction = client.transaction().await?;
    for id in 1..=5 {
        transaction.execute("INSERT INTO account VALUES ($1, 100)", &[&id]).await?;
    }
    transaction.commit().await?;
    let transaction = client.transaction().await?;
    transaction.execute("DELETE FROM account", &[]).await?;
    transaction.rollback().await?;
    let mut transaction = client.transaction().await?;
    let inner = transaction.transaction().await?;
    let refused = inner.execute("UPDATE account SET balance = balance - 500 WHERE id = 1", &[]).await;
    assert_eq!(refused.expect_err("a debt").code(), Some(&SqlState::CHECK_VIOLATION));
    inner.rollback().await?;
    transaction.execute("UPDATE account SET balance = balance + 1 WHERE id = 1", &[]).await?;
    let statement = transaction.prepare("SELECT id FROM account ORDER BY id").await?;
    let portal = transaction.bind(&statement, &[]).await?;
    let sizes = [
        transaction.query_portal(&portal, 2).await?.len(),
        transaction.query_portal(&portal, 2).await?.len(),
        transaction.query_portal(&portal, 2).await?.len(),
    ];
    assert_eq!(sizes, [2, 2, 1]);
    transaction.commit().await?;
    assert_eq!(client.query_one("SELECT sum(balance) FROM account", &[]).await?.get::<_, i64>(0), 501);
    let twice = client.execute("INSERT INTO account VALUES (1, 1)", &[]).await.expect_err("a key twice");
    assert_eq!(twice.code(), Some(&SqlState::UNIQUE_VIOLATION));
    let lost = client.query("SELECT * FROM nowhere", &[]).await.expect_err("no such table");
    assert_eq!(lost.code(), Some(&SqlState::UNDEFINED_TABLE));
    Ok(())
}

async fn copies(client: &Client) -> Outcome {
    let sink = client.copy_in::<_, Cursor<Vec<u8>>>("COPY thing (id, words) FROM STDIN").await?;
    pin_mut!(sink);
    for id in 10..20 {
        sink.send(Cursor::new(format!("{id}\tcopied {id}\n").into_bytes())).await?;
    }
    assert_eq!(sink.finish().await?, 10);
    let stream = client.copy_out("COPY (SELECT id FROM thing WHERE id >= 18 ORDER BY id) TO STDOUT").await?;
    let bytes: Vec<u8> = stream.map_ok(|piece| piece.to_vec()).try_concat().await?;
    assert_eq!(bytes, b"18\n19\n");
    let rows = client.query_raw("SELECT id FROM thing WHERE id >= 10", Vec::<i32>::new()).await?;
    assert_eq!(rows.count().await, 10);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let (mut client, connection) = tokio_postgres::connect(&std::env::var("DATABASE_URL")?, NoTls).await?;
    let connection = tokio::spawn(connection);
    every_type(&client).await?;
    statements(&client).await?;
    transactions(&mut client).await?;
    copies(&client).await?;
    drop(client);
    connection.await??;
    println!("ok tokio-postgres");
    Ok(())
}
