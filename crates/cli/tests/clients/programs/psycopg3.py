"""psycopg 3: the extended protocol in text and in binary, prepared statements, COPY, pipelines, savepoints."""

import datetime as dt
import uuid
from decimal import Decimal

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

ROW = (1, 2**40, "naïve 漢字 🦀 'quoted' \\slash", Decimal("12345.6700"), dt.date(2024, 2, 29), dt.time(23, 59, 58, 250000),
       dt.datetime(2024, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 7, 1, 10, tzinfo=dt.timezone.utc), True, 0.1,
       bytes(range(256)), uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), [1, 2, 3], ["a", None, "c,d"])
COLUMNS = ["id", "large", "words", "money", "day", "clock", "stamp", "instant", "flag", "ratio", "blob", "token", "numbers", "names"]


def schema(connection):
    connection.execute("""
        CREATE TABLE thing (
            id integer PRIMARY KEY, large bigint, words text, money numeric(12, 4), day date, clock time, stamp timestamp,
            instant timestamptz, flag boolean, ratio double precision, blob bytea, token uuid, numbers integer[], names text[])""")
    connection.execute("CREATE TABLE document (id serial PRIMARY KEY, body jsonb NOT NULL)")
    connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0))")
    connection.commit()


def every_type(connection):
    marks = sql.SQL(", ").join(sql.Placeholder() * len(ROW))
    insert = sql.SQL("INSERT INTO thing ({}) VALUES ({})").format(sql.SQL(", ").join(map(sql.Identifier, COLUMNS)), marks)
    connection.execute(insert, ROW)
    connection.execute("INSERT INTO thing (id) VALUES (%s)", (2,))
    for binary in (False, True):
        for prepare in (False, True):
            with connection.cursor(binary=binary) as cursor:
                cursor.execute("SELECT * FROM thing WHERE id = %s", (1,), prepare=prepare)
                assert cursor.fetchone() == ROW, (binary, prepare)
                cursor.execute("SELECT * FROM thing WHERE id = %s", (2,), prepare=prepare)
                assert cursor.fetchone() == (2, *[None] * 13)
    for placeholder in ("%s", "%b", "%t"):
        found = connection.execute(f"SELECT id FROM thing WHERE words = {placeholder} AND money > {placeholder}",
                                   (ROW[2], Decimal("12345"))).fetchall()
        assert found == [(1,)], placeholder
    found = connection.execute("SELECT id FROM thing WHERE id = ANY(%s) ORDER BY id DESC", ([1, 2, 7],)).fetchall()
    assert found == [(2,), (1,)]
    connection.commit()


def documents(connection):
    body = {"name": "λ", "tags": ["x", None, 1.5], "nested": {"deep": [True]}}
    connection.execute("INSERT INTO document (body) VALUES (%s)", (Jsonb(body),))
    row = connection.execute("SELECT id, body, body ->> 'name', body -> 'nested' -> 'deep' FROM document").fetchone()
    assert row == (1, body, "λ", [True]), row
    connection.commit()


def transactions(connection):
    with connection.transaction():
        connection.cursor().executemany("INSERT INTO account VALUES (%s, %s)", [(number, 100) for number in range(1, 6)])
    try:
        with connection.transaction():
            connection.execute("UPDATE account SET balance = balance - 70 WHERE id = 1")
            connection.execute("UPDATE account SET balance = balance - 170 WHERE id = 2")
        raise AssertionError("the check did not hold")
    except psycopg.errors.CheckViolation as error:
        assert error.diag.constraint_name == "account_balance_check", error.diag.constraint_name
    with connection.transaction():
        try:
            with connection.transaction():
                connection.execute("INSERT INTO account VALUES (1, 1)")
        except psycopg.errors.UniqueViolation as error:
            assert error.sqlstate == "23505"
        connection.execute("UPDATE account SET balance = balance + 1 WHERE id = 3")
    total = connection.execute("SELECT sum(balance), count(*) FROM account").fetchone()
    assert total == (501, 5), total
    connection.rollback()
    connection.execute("DELETE FROM account")
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM account").fetchone() == (5,)
    changed = connection.execute("UPDATE account SET balance = balance * 2 WHERE id <= %s RETURNING id, balance", (2,))
    assert changed.rowcount == 2 and sorted(changed.fetchall()) == [(1, 200), (2, 200)]
    connection.commit()


def copies(connection):
    connection.execute("CREATE TABLE line (id int, words text, money numeric, blob bytea)")
    rows = [(1, "tab\there", Decimal("1.50"), b"\x00\xff"), (2, None, None, None), (3, "über \\N", Decimal("-7"), b"")]
    with connection.cursor().copy("COPY line FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    with connection.cursor().copy("COPY line (id, words, money, blob) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "text", "numeric", "bytea"])
        for row in rows:
            copy.write_row((row[0] + 10, *row[1:]))
    assert connection.execute("SELECT * FROM line WHERE id < 10 ORDER BY id").fetchall() == rows
    assert [row[1:] for row in connection.execute("SELECT * FROM line WHERE id > 10 ORDER BY id")] == [row[1:] for row in rows]
    with connection.cursor().copy("COPY (SELECT id, words FROM line WHERE id < 10 ORDER BY id) TO STDOUT") as copy:
        copy.set_types(["int4", "text"])
        assert list(copy.rows()) == [row[:2] for row in rows]
    with connection.cursor().copy("COPY (SELECT id, words FROM line WHERE id < 10 ORDER BY id) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["int4", "text"])
        assert list(copy.rows()) == [row[:2] for row in rows]
    try:
        with connection.transaction(), connection.cursor().copy("COPY line FROM STDIN") as copy:
            copy.write("not a number\tx\t1\t\\\\x\n")
        raise AssertionError("a word became a number")
    except psycopg.errors.InvalidTextRepresentation:
        pass
    connection.commit()


def pipelines(connection):
    with connection.pipeline():
        cursors = [connection.execute("SELECT balance + %s FROM account WHERE id = %s", (number, 3)) for number in range(5)]
        assert [cursor.fetchone()[0] for cursor in cursors] == [101, 102, 103, 104, 105]
    connection.commit()
    try:
        with connection.pipeline():
            connection.execute("UPDATE account SET balance = 0 WHERE id = 4")
            connection.execute("SELECT 1 / (balance - balance) FROM account WHERE id = 4")
            connection.execute("UPDATE account SET balance = 1 WHERE id = 4")
        raise AssertionError("a division by zero went well")
    except psycopg.errors.DivisionByZero:
        connection.rollback()
    assert connection.execute("SELECT balance FROM account WHERE id = 4").fetchone() == (100,)
    connection.commit()


def cursors(connection):
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("SELECT id, balance FROM account WHERE id = 5")
        assert cursor.fetchall() == [{"id": 5, "balance": 100}]
        assert [column.name for column in cursor.description] == ["id", "balance"]
        assert [column.type_code for column in cursor.description] == [23, 23]
    with connection.cursor(name="steps") as cursor:
        cursor.itersize = 2
        cursor.execute("SELECT id FROM account ORDER BY id")
        assert [row[0] for row in cursor] == [1, 2, 3, 4, 5]
    connection.commit()
    connection.prepare_threshold = 1
    for number in range(1, 6):
        assert connection.execute("SELECT id FROM account WHERE id = %s", (number,)).fetchone() == (number,)
    connection.commit()
    try:
        connection.execute("SELECT * FROM nowhere")
        raise AssertionError("a table that does not exist has rows")
    except psycopg.errors.UndefinedTable:
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    connection.rollback()
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def main():
    with psycopg.connect(application_name="psycopg3") as connection:
        schema(connection)
        every_type(connection)
        documents(connection)
        transactions(connection)
        copies(connection)
        pipelines(connection)
        cursors(connection)
    print("ok psycopg 3")


if __name__ == "__main__":
    main()
