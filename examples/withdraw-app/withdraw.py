"""Two people take money out of one account at the same time, each in a thread and over a connection of its own.

    skew explore --level read-committed,snapshot,serializable -- python withdraw.py
    skew explore --level read-committed -- python withdraw.py fixed
    skew serve --predict -- python withdraw.py
    skew serve --predict -- python withdraw.py 40

With a number each takes out that much: of 60 only one of the two gets any, of 40 both do.

A first connection sets up; then the threads run; a last connection looks whether the money adds up. Where the withdrawal reads the
balance and writes it back, one of the two is lost. FOR UPDATE keeps the row until the transaction ends.
"""

import sys
import threading

import psycopg

FIXED = "fixed" in sys.argv[1:]
LOCK = " FOR UPDATE" if FIXED else ""
AMOUNT = next((int(word) for word in sys.argv[1:] if word.isdigit()), 60)


def connect(name):
    # All else is in the environment: PGHOST, PGPORT, PGUSER, PGDATABASE.
    return psycopg.connect(application_name=name)


def set_up():
    with connect("bank") as connection:
        connection.execute("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)")
        connection.execute("CREATE TABLE payout (person TEXT PRIMARY KEY, amount INT NOT NULL)")
        connection.execute("INSERT INTO account VALUES (1, 100)")


def withdraw(person, amount):
    with connect(person) as connection:
        row = connection.execute(f"SELECT balance FROM account WHERE id = 1{LOCK}").fetchone()
        if row[0] >= amount:
            connection.execute("UPDATE account SET balance = %s WHERE id = 1", (row[0] - amount,))
            connection.execute("INSERT INTO payout VALUES (%s, %s)", (person, amount))


def audit():
    with connect("audit") as connection:
        left = connection.execute("SELECT balance FROM account WHERE id = 1").fetchone()[0]
        paid = connection.execute("SELECT coalesce(sum(amount), 0) FROM payout").fetchone()[0]
        return left, paid


set_up()
people = [threading.Thread(target=withdraw, args=(person, AMOUNT)) for person in ("alice", "bob")]
for person in people:
    person.start()
for person in people:
    person.join()
left, paid = audit()
if left + paid != 100 or left < 0:
    sys.exit(f"{paid} paid out, and {left} of 100 left")
