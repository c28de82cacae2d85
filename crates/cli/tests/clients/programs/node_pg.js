// node's pg: plain and named (prepared) statements, every type as text, transactions, errors.
const assert = require("node:assert/strict");
const { Client } = require("pg");

async function everyType(client) {
  await client.query(`CREATE TABLE thing (
    id serial PRIMARY KEY, words text, large bigint, money numeric(10, 2), day date, instant timestamptz DEFAULT now(),
    flag boolean, ratio float8, blob bytea, body jsonb, numbers int[])`);
  const blob = Buffer.from([0, 1, 254, 255]);
  const body = { list: [1, null, "ö"], deep: { yes: true } };
  const instant = new Date("2024-02-29T12:00:00.123Z");
  const inserted = await client.query(
    `INSERT INTO thing (words, large, money, day, instant, flag, ratio, blob, body, numbers)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
    ["Grüße 🚲 'x'", "9007199254740993", "12.30", "2024-02-29", instant, true, 0.25, blob, body, [3, 2, 1]]);
  assert.equal(inserted.rows[0].id, 1);
  assert.equal(inserted.rowCount, 1);
  const { rows, fields } = await client.query("SELECT *, day::text AS day_text FROM thing WHERE id = $1", [1]);
  const row = rows[0];
  assert.equal(row.words, "Grüße 🚲 'x'");
  assert.equal(row.large, "9007199254740993");
  assert.equal(row.money, "12.30");
  assert.equal(row.day_text, "2024-02-29");
  assert.equal(row.instant.toISOString(), instant.toISOString());
  assert.equal(row.flag, true);
  assert.equal(row.ratio, 0.25);
  assert.deepEqual(row.blob, blob);
  assert.deepEqual(row.body, body);
  assert.deepEqual(row.numbers, [3, 2, 1]);
  assert.deepEqual(fields.slice(0, 4).map((field) => field.dataTypeID), [23, 25, 20, 1700]);
  await client.query("INSERT INTO thing (words, instant) VALUES (NULL, NULL)");
  const empty = (await client.query("SELECT * FROM thing WHERE words IS NULL")).rows[0];
  assert.ok(Object.entries(empty).every(([name, value]) => name === "id" || value === null));
}

async function named(client) {
  const query = { name: "by-id", text: "SELECT words FROM thing WHERE id = $1" };
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal((await client.query({ ...query, values: [1] })).rows.length, 1);
  }
  assert.equal((await client.query({ ...query, values: [77] })).rows.length, 0);
  const array = await client.query({ text: "SELECT id, id * 2 FROM thing ORDER BY id", rowMode: "array" });
  assert.deepEqual(array.rows, [[1, 2], [2, 4]]);
  const binary = await client.query({ text: "SELECT 7::int4 AS n, true AS t", binary: true, values: [] });
  assert.deepEqual(binary.rows, [{ n: 7, t: true }]);
  const any = await client.query("SELECT id FROM thing WHERE id = ANY($1) ORDER BY id", [[2, 1, 9]]);
  assert.deepEqual(any.rows.map((row) => row.id), [1, 2]);
}

async function transactions(client) {
  await client.query("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)");
  await client.query("INSERT INTO account VALUES (1, 100), (2, 100)");
  await client.query("BEGIN");
  await client.query("UPDATE account SET balance = balance - 40 WHERE id = 1");
  await client.query("UPDATE account SET balance = balance + 40 WHERE id = 2");
  await client.query("COMMIT");
  await client.query("BEGIN");
  await client.query("DELETE FROM account");
  await client.query("ROLLBACK");
  const both = await client.query("SELECT id, balance FROM account ORDER BY id");
  assert.deepEqual(both.rows, [{ id: 1, balance: 60 }, { id: 2, balance: 140 }]);
  await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
  await assert.rejects(client.query("INSERT INTO account VALUES (1, 1)"), { code: "23505", constraint: "account_pkey" });
  await assert.rejects(client.query("SELECT 1"), { code: "25P02" });
  await client.query("ROLLBACK");
  await assert.rejects(client.query("SELECT * FROM nowhere"), { code: "42P01" });
  const many = await client.query("SELECT 1 AS one; SELECT 2 AS two; UPDATE account SET balance = 0 WHERE id = 2");
  assert.deepEqual(many.map((result) => result.command), ["SELECT", "SELECT", "UPDATE"]);
  assert.equal(many[2].rowCount, 1);
}

async function main() {
  const client = new Client({ connectionString: process.env.DATABASE_URL, application_name: "node-pg" });
  await client.connect();
  await everyType(client);
  await named(client);
  await transactions(client);
  await client.end();
  console.log("ok node pg");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
