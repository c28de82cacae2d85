"""asyncpg: binary everywhere, statements that are always prepared, types it asks the catalog for."""

import asyncio
import datetime as dt
import os
import uuid
from decimal import Decimal

import asyncpg

ROW = (1, "żółć 🎈", Decimal("99.99"), dt.date(1969, 7, 20), dt.datetime(2001, 1, 1, 12, 30, 15, 123456),
       dt.datetime(2020, 5, 5, tzinfo=dt.timezone.utc), False, b"\x00\x01\xfe", uuid.UUID(int=7), 2.5, ["x", None], [3, 1])


async def every_type(connection):
    await connection.execute("""
        CREATE TABLE thing (
            id int PRIMARY KEY, words text, money numeric(10, 2), day date, stamp timestamp, instant timestamptz, flag bool,
            blob bytea, token uuid, ratio float8, names text[], numbers bigint[])""")
    await connection.execute("INSERT INTO thing VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", *ROW)
    await connection.execute("INSERT INTO thing (id) VALUES ($1)", 2)
    row = await connection.fetchrow("SELECT * FROM thing WHERE id = $1", 1)
    assert tuple(row) == ROW, row
    assert row["words"] == ROW[1]
    assert tuple(await connection.fetchrow("SELECT * FROM thing WHERE id = 2")) == (2, *[None] * 11)
    found = await connection.fetch("SELECT id FROM thing WHERE id = ANY($1::int[]) ORDER BY id", [2, 1, 5])
    assert [record["id"] for record in found] == [1, 2]
    assert await connection.fetchval("SELECT $1::interval + $2::date", dt.timedelta(days=1), dt.date(2024, 2, 28)) \
        == dt.datetime(2024, 2, 29)


async def prepared(connection):
    statement = await connection.prepare("SELECT words, money * $1 AS price FROM thing WHERE id = $2")
    assert [kind.name for kind in statement.get_parameters()] == ["numeric", "int4"]
    assert [(column.name, column.type.name) for column in statement.get_attributes()] == [("words", "text"), ("price", "numeric")]
    for factor in (1, 2, 3):
        assert await statement.fetchval(Decimal(factor), 1, column=1) == Decimal("99.99") * factor
    await connection.executemany("INSERT INTO thing (id, words) VALUES ($1, $2)", [(number, f"no {number}") for number in range(10, 30)])
    async with connection.transaction():
        seen = [record["id"] async for record in connection.cursor("SELECT id FROM thing WHERE id >= 10 ORDER BY id", prefetch=7)]
    assert seen == list(range(10, 30))


async def transactions(connection):
    try:
        async with connection.transaction():
            await connection.execute("DELETE FROM thing WHERE id >= 10")
            assert await connection.fetchval("SELECT count(*) FROM thing") == 2
            raise KeyError
    except KeyError:
        pass
    assert await connection.fetchval("SELECT count(*) FROM thing") == 22
    async with connection.transaction(isolation="repeatable_read"):
        try:
            async with connection.transaction():
                await connection.execute("INSERT INTO thing (id) VALUES (1)")
        except asyncpg.UniqueViolationError as error:
            assert error.constraint_name == "thing_pkey", error.constraint_name
        assert await connection.execute("UPDATE thing SET words = 'changed' WHERE id = 2") == "UPDATE 1"
    assert await connection.fetchval("SELECT words FROM thing WHERE id = 2") == "changed"
    async with connection.transaction(readonly=True):
        try:
            async with connection.transaction():
                await connection.execute("DELETE FROM thing")
            raise AssertionError("a read-only transaction wrote")
        except asyncpg.ReadOnlySQLTransactionError:
            pass


async def copies(connection):
    records = [(number, f"copied {number}", None) for number in range(100, 150)]
    assert await connection.copy_records_to_table("thing", records=records, columns=["id", "words", "money"]) == "COPY 50"
    assert await connection.fetchval("SELECT count(*) FROM thing WHERE words LIKE 'copied %'") == 50
    pieces = []

    async def take(piece):
        pieces.append(piece)

    await connection.copy_from_query("SELECT id, words FROM thing WHERE id BETWEEN $1 AND $2 ORDER BY id", 100, 101,
                                     output=take, format="csv")
    assert b"".join(pieces) == b"100,copied 100\n101,copied 101\n", pieces


async def own_types(connection):
    await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    await connection.execute("CREATE TABLE person (name varchar(20), mood mood)")
    await connection.execute("INSERT INTO person VALUES ($1, $2)", "Ann", "glad")
    assert tuple(await connection.fetchrow("SELECT name, mood FROM person WHERE mood = $1", "glad")) == ("Ann", "glad")
    await connection.set_type_codec("jsonb", encoder=str, decoder=str, schema="pg_catalog")
    assert await connection.fetchval("SELECT '{\"a\": [1, 2]}'::jsonb") == '{"a": [1, 2]}'


async def main():
    connection = await asyncpg.connect(os.environ["DATABASE_URL"], server_settings={"application_name": "asyncpg"})
    try:
        await every_type(connection)
        await prepared(connection)
        await transactions(connection)
        await copies(connection)
        await own_types(connection)
    finally:
        await connection.close()
    print("ok asyncpg")


if __name__ == "__main__":
    asyncio.run(main())
