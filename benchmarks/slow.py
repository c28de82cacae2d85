#!/usr/bin/env python3
"""What fifty sessions notice of a statement that works for twenty seconds, and how soon it ends when its client is killed.

pgbench runs fifty clients that read and update single rows, first alone, then beside a statement that computes, one that reads row by row
and one that sleeps. Beside it another session is cut off by its statement_timeout again and again, and others log in. Then the client of
the statement is killed, and the processor time of the server tells when it stops.
"""

import argparse
import re
import statistics
import subprocess
import time

from measure import Session, first_line
from served import Client, Served, fill

SCRIPT = r"""\set id random(1, 1000)
SELECT balance FROM account WHERE id = :id;
UPDATE account SET balance = balance + 1 WHERE id = :id;
"""
SLOW = {
    "computes": "SELECT count(*) FROM generate_series(1, 7000) a, generate_series(1, 7000) b WHERE a + b = 7",
    "sorts": "SELECT count(*) FROM (SELECT n FROM generate_series(1, 900000) n, generate_series(1, 20) m ORDER BY md5(n::text) LIMIT 1) s",
    "reads": "SELECT sum((SELECT balance FROM account WHERE id = 1 + n % 1000)) FROM generate_series(1, 7000) n, generate_series(1, 2000) m",
    "sleeps": "SELECT pg_sleep(600)",
}
TIMEOUT = 0.1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=2000, help="transactions per second of all clients")
    parser.add_argument("--level", default="read-committed")
    return parser.parse_args()


def begin(server, sql):
    client = Client(server.port, application_name="slow")
    client.send(sql)
    time.sleep(0.5)
    return client


def latency(session, wanted, server, script):
    """Milliseconds of fifty clients, of a timeout that is due after 100 ms, and of a login."""
    command = ["pgbench", "--no-vacuum", f"--client={wanted.clients}", f"--time={wanted.seconds}", f"--rate={wanted.rate}", f"--file={script}"]
    load = subprocess.Popen(command, env=server.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(1)
    timed = Client(server.port, application_name="timed")
    timed.query(f"SET statement_timeout = {int(TIMEOUT * 1000)}")
    late, logins = [], []
    end = time.perf_counter() + wanted.seconds - 3
    while time.perf_counter() < end:
        start = time.perf_counter()
        timed.query("SELECT pg_sleep(60)")
        late.append(time.perf_counter() - start - TIMEOUT)
        start = time.perf_counter()
        Client(server.port, application_name="login").close()
        logins.append(time.perf_counter() - start)
    output = load.communicate()[0]
    average = re.search(r"latency average = ([0-9.]+)", output)
    if not average:
        raise SystemExit(output)
    return float(average.group(1)), max(late) * 1000, statistics.median(logins) * 1000


def ended(server, client):
    """Seconds from the death of a client until its server does nothing any more."""
    client.close()
    start = time.perf_counter()
    while True:
        before = server.processor()
        time.sleep(0.05)
        if server.processor() - before < 0.005:
            return time.perf_counter() - start


def main():
    wanted = arguments()
    session = Session("slow")
    session.say(f"clients: {first_line(['pgbench', '--version'])}")
    session.say(f"$ skew serve --level {wanted.level} --chooser latest; pgbench -c {wanted.clients} -T {wanted.seconds} -R {wanted.rate}")
    session.say("average latency of a transaction of two statements, the same beside a slow statement, by how much a timeout of 100 ms was late at")
    session.say("most, what a login took, and when the statement ended whose client was killed")
    session.say()
    script = session.folder / "slow.sql"
    script.write_text(SCRIPT)
    rows = []
    with Served(session.skew, "--level", wanted.level, "--chooser", "latest") as server:
        fill(server.port, 1000)
        alone, late, login = latency(session, wanted, server, script)
        rows.append(["alone", f"{alone:.2f} ms", "1.00", f"{late:.0f} ms", f"{login:.1f} ms", ""])
        for kind, sql in SLOW.items():
            session.note(f"  {kind}")
            client = begin(server, sql)
            beside, late, login = latency(session, wanted, server, script)
            over = ended(server, client)
            rows.append([kind, f"{beside:.2f} ms", f"{beside / alone:.2f}", f"{late:.0f} ms", f"{login:.1f} ms", f"{over:.2f} s"])
    session.table(["beside a statement that", "latency", "ratio", "timeout late", "login", "ended after"], rows)
    session.finish()


if __name__ == "__main__":
    main()
