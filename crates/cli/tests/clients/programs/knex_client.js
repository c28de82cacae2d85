// Knex: migrations, the schema builder, queries, transactions with savepoints, on a pool of one connection.
const assert = require("node:assert/strict");
const knex = require("knex");

const migrations = {
  "1_people": {
    async up(database) {
      await database.schema.createTable("person", (table) => {
        table.increments("id");
        table.string("name", 50).notNullable().index();
        table.string("email").unique();
        table.decimal("credit", 10, 2).defaultTo(0);
        table.date("born");
        table.binary("photo");
        table.jsonb("more");
        table.uuid("token").defaultTo(database.fn.uuid());
        table.timestamps(true, true);
      });
      await database.schema.createTable("pet", (table) => {
        table.bigIncrements("id");
        table.integer("person_id").unsigned().notNullable().references("id").inTable("person").onDelete("CASCADE");
        table.text("name");
        table.boolean("tame").notNullable().defaultTo(true);
        table.enu("kind", ["cat", "dog"]);
      });
    },
    down: (database) => database.schema.dropTable("pet").dropTable("person"),
  },
  "2_changes": {
    async up(database) {
      await database.schema.alterTable("pet", (table) => {
        table.integer("age");
        table.renameColumn("tame", "is_tame");
        table.unique(["person_id", "name"]);
      });
      await database.schema.renameTable("pet", "animal");
    },
    async down(database) {
      await database.schema.renameTable("animal", "pet");
      await database.schema.alterTable("pet", (table) => {
        table.dropUnique(["person_id", "name"]);
        table.renameColumn("is_tame", "tame");
        table.dropColumn("age");
      });
    },
  },
};

const migrationSource = {
  getMigrations: async () => Object.keys(migrations),
  getMigrationName: (name) => name,
  getMigration: async (name) => migrations[name],
};

async function rows(database) {
  const [{ id }] = await database("person").insert({ name: "Zoë", email: "z@example.org", credit: "10.50", photo: Buffer.from([0, 255]), more: { a: [1] } }).returning("id");
  assert.equal(id, 1);
  await database("person").insert([{ name: "Yu 于" }, { name: "Xi", email: null, born: "2000-02-29" }]);
  const zoe = await database("person").where({ id }).first();
  assert.equal(zoe.name, "Zoë");
  assert.equal(zoe.credit, "10.50");
  assert.deepEqual(zoe.photo, Buffer.from([0, 255]));
  assert.deepEqual(zoe.more, { a: [1] });
  assert.ok(zoe.created_at instanceof Date && zoe.born === null);
  await database.batchInsert("animal", Array.from({ length: 25 }, (_, number) => ({ person_id: 1 + (number % 3), name: `pet ${number}`, kind: number % 2 ? "cat" : "dog", age: number })), 10);
  const counted = await database("animal").select("kind").count({ n: "*" }).sum({ age: "age" }).groupBy("kind").orderBy("kind");
  assert.deepEqual(counted, [{ kind: "cat", n: "12", age: "144" }, { kind: "dog", n: "13", age: "156" }]);
  const joined = await database("person").join("animal", "person.id", "animal.person_id").where("person.name", "like", "Y%").andWhere("age", ">", 20).orderBy("animal.id").select("person.name as owner", "animal.name");
  assert.deepEqual(joined, [{ owner: "Yu 于", name: "pet 22" }]);
  assert.equal(await database("animal").whereIn("person_id", database("person").select("id").where("name", "Xi")).del(), 8);
  assert.equal(await database("animal").where("age", "<", 4).increment("age", 100), 3);
  await database("person").insert({ id: 1, name: "Zoë II" }).onConflict("id").merge(["name"]);
  await database("person").insert({ id: 1, name: "nobody" }).onConflict("id").ignore();
  assert.equal((await database("person").where({ id: 1 }).first()).name, "Zoë II");
  await assert.rejects(database("animal").insert({ person_id: 1, name: "x", kind: "cow" }), { code: "23514" });
  await assert.rejects(database("animal").insert({ person_id: 99, name: "x" }), { code: "23503" });
}

async function transactions(database) {
  await assert.rejects(database.transaction(async (transaction) => {
    await transaction("person").update({ credit: 0 });
    throw new Error("taken back");
  }), /taken back/);
  assert.equal((await database("person").where({ id: 1 }).first()).credit, "10.50");
  await database.transaction(async (transaction) => {
    const row = await transaction("person").where({ id: 1 }).forUpdate().first();
    await transaction("person").where({ id: 1 }).update({ credit: Number(row.credit) + 1 });
    await transaction.transaction(async (inner) => {
      await inner("animal").del();
      await inner.rollback(new Error("inner"));
    }).catch((error) => assert.equal(error.message, "inner"));
  });
  assert.equal((await database("person").where({ id: 1 }).first()).credit, "11.50");
  assert.equal((await database("animal").count("* as n"))[0].n, "17");
  const { rows: raw } = await database.raw("select ?::int + ? as sum, ?? from person where id = ?", [1, 2, "name", 1]);
  assert.deepEqual(raw, [{ sum: 3, name: "Zoë II" }]);
}

async function main() {
  const database = knex({ client: "pg", connection: { connectionString: process.env.DATABASE_URL, application_name: "knex" }, pool: { min: 1, max: 1 } });
  const settings = { migrationSource };
  assert.equal((await database.migrate.latest(settings))[1].length, 2);
  assert.equal((await database.migrate.latest(settings))[1].length, 0);
  assert.ok(await database.schema.hasTable("animal") && !await database.schema.hasTable("pet"));
  assert.ok(await database.schema.hasColumn("animal", "is_tame"));
  assert.equal((await database("person").columnInfo()).name.maxLength, 50);
  await rows(database);
  await transactions(database);
  await database.migrate.rollback(settings, true);
  assert.ok(!await database.schema.hasTable("person"));
  await database.destroy();
  console.log("ok Knex");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
