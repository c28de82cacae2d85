#!/usr/bin/env python3
"""Joins and subqueries over tables without an index, on the mock and on PostgreSQL: the time of each, and the ratios.

Two tables of --rows rows are filled, and each query is asked on a database of its own, through psql. SKEW_BEFORE names an earlier binary
to put beside this one; what takes longer than --limit seconds there is stopped, and its ratio is at least that.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time

from measure import Session
from postgresql import Postgres

QUERIES = [
    ("EXISTS", "SELECT count(*) FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b)"),
    ("NOT EXISTS", "SELECT count(*) FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.b)"),
    ("EXISTS, and more", "SELECT count(*) FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND i.id <> o.id)"),
    ("EXISTS of a join", "SELECT count(*) FROM o WHERE EXISTS (SELECT 1 FROM i JOIN i j ON j.a = i.a WHERE i.a = o.b)"),
    ("EXISTS over WITH", "WITH m AS MATERIALIZED (SELECT a FROM i) SELECT count(*) FROM o WHERE EXISTS (SELECT 1 FROM m WHERE m.a = o.b)"),
    ("IN (SELECT)", "SELECT count(*) FROM o WHERE b IN (SELECT a FROM i)"),
    ("NOT IN (SELECT)", "SELECT count(*) FROM o WHERE b NOT IN (SELECT a FROM i)"),
    ("IN, correlated", "SELECT count(*) FROM o WHERE b IN (SELECT a FROM i WHERE i.id = o.c)"),
    ("= ANY (SELECT)", "SELECT count(*) FROM o WHERE b = ANY (SELECT a FROM i)"),
    ("<> ALL (SELECT)", "SELECT count(*) FROM o WHERE b <> ALL (SELECT a FROM i)"),
    ("scalar subquery", "SELECT sum((SELECT count(*) FROM i WHERE i.a = o.b)) FROM o"),
    ("LATERAL", "SELECT count(*) FROM o, LATERAL (SELECT max(id) AS m FROM i WHERE i.a = o.b) l WHERE l.m > 0"),
    ("JOIN", "SELECT count(*) FROM o JOIN i ON i.a = o.b"),
    ("LEFT JOIN", "SELECT count(*) FROM o LEFT JOIN i ON i.a = o.b"),
    ("RIGHT JOIN", "SELECT count(*) FROM o RIGHT JOIN i ON i.a = o.b"),
    ("FULL JOIN", "SELECT count(*) FROM o FULL JOIN i ON i.a = o.b"),
    ("IN of constants", "SELECT count(*) FROM o WHERE b IN ({constants})"),
    ("NOT IN of constants", "SELECT count(*) FROM o WHERE b NOT IN ({constants})"),
    ("key IN of constants", "SELECT count(*) FROM o WHERE id IN ({constants})"),
    ("= ANY (array)", "SELECT count(*) FROM o WHERE b = ANY ('{{{constants}}}'::int[])"),
    ("UPDATE … EXISTS", "UPDATE o SET c = c + 1 WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.b AND i.id < 10)"),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--limit", type=int, default=60, help="seconds that a query may take")
    return parser.parse_args()


class Mock:
    """`skew serve` for the length of a `with` block."""

    def __init__(self, skew):
        self.skew = skew

    def __enter__(self):
        command = [str(self.skew), "serve", "--level", "serializable"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.search(r":(\d+)/", self.process.stdout.readline()).group(1))
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def environment(self):
        return {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "skew", "PGDATABASE": "skew"}


def fill(server, rows):
    ask(server, "DROP TABLE IF EXISTS o, i", 60)
    ask(server, "CREATE TABLE o (id INT PRIMARY KEY, b INT, c INT); CREATE TABLE i (id INT PRIMARY KEY, a INT)", 60)
    ask(server, f"INSERT INTO o SELECT n, n * 7 % {rows} + {rows // 2}, n FROM generate_series(1, {rows}) AS n", 600)
    ask(server, f"INSERT INTO i SELECT n, n FROM generate_series(1, {rows}) AS n", 600)


def ask(server, query, limit):
    """The seconds that a query takes and what it answers; None where it takes too long."""
    start = time.perf_counter()
    try:
        done = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1"], input=query + ";\n", text=True, capture_output=True,
                              env=server.environment(), timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None, "stopped"
    if done.returncode != 0:
        sys.exit(f"{query[:100]}: {done.stderr}")
    return time.perf_counter() - start, done.stdout.strip()


def timed(make, query, options):
    """Each query has a server of its own, so that one that is stopped disturbs no other."""
    with make() as server:
        fill(server, options.rows)
        return ask(server, query, options.limit)


def main():
    options = arguments()
    session = Session("joins")
    before = os.environ.get("SKEW_BEFORE")
    constants = ", ".join(str(number * 3) for number in range(options.rows))
    session.say(f"{options.rows} rows on each side, seconds through psql")
    session.say(f"{'query':22}{'before':>10}{'now':>10}{'PostgreSQL':>12}{'before/now':>12}{'now/PostgreSQL':>16}")
    with Postgres() as postgres:
        fill(postgres, options.rows)
        for name, query in QUERIES:
            query = query.format(constants=constants)
            old, _ = timed(lambda: Mock(before), query, options) if before else (None, "")
            now, answer = timed(lambda: Mock(session.skew), query, options)
            real, expected = ask(postgres, query, options.limit)
            if answer != expected:
                sys.exit(f"{name}: {answer} instead of {expected}")
            ratio = "" if not before else f"> {options.limit / now:.0f}" if old is None else f"{old / now:.1f}"
            shown = "" if not before else f"> {options.limit}" if old is None else f"{old:.2f}"
            session.say(f"{name:22}{shown:>10}{now:>10.2f}{real:>12.2f}{ratio:>12}{now / real:>16.1f}")
    session.finish()


if __name__ == "__main__":
    main()
