#!/usr/bin/env python3
"""django-oscar, unmodified, from PyPI: its own checkout on a real PostgreSQL that logs statements, and what `skew analyze` says of the log.

The package goes into a virtual environment that is thrown away. The log begins with its migrations, which tell the tables. Then a few customers
buy something with a voucher each, one after the other, through oscar's views (`oscar-shop`); nothing goes wrong in that run.
"""

import argparse
import subprocess
import tempfile
import time
import venv
from pathlib import Path

from measure import Session, measure
from postgresql import Postgres

HERE = Path(__file__).resolve().parent
LAST = "this is the last line"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default="4.2.1", help="of django-oscar")
    parser.add_argument("--customers", type=int, default=3)
    parser.add_argument("--levels", default="postgres:read-committed,postgres:repeatable-read")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for the analysis")
    return parser.parse_args()


def install(folder, version):
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"django-oscar=={version}", "psycopg[binary]"], check=True)
    return python


def statement(server, text):
    done = subprocess.run(["psql", "-qXAtc", text], env=server.environment(), check=True, capture_output=True, text=True)
    return done.stdout.strip()


def recorded(session, server, python, customers):
    """The log of everything, the migrations included."""
    shop = [python, HERE / "oscar-shop" / "shop.py"]
    for what in (["migrate"], ["buy", str(customers)]):
        session.note(what[0])
        done = subprocess.run([*shop, *what], env=server.environment(), check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            session.say(line)
    log = Path(statement(server, "SHOW data_directory")) / statement(server, "SELECT pg_current_logfile('csvlog')")
    statement(server, f"SELECT '{LAST}'")
    while LAST not in log.read_text():
        time.sleep(0.1)
    return log.read_text()


def main():
    wanted = arguments()
    session = Session("oscar")
    with tempfile.TemporaryDirectory(prefix="skew-oscar-") as folder:
        python = install(Path(folder) / "python", wanted.version)
        with Postgres("logging_collector=on", "log_destination=csvlog", "log_statement=all") as server:
            log = recorded(session, server, python, wanted.customers)
        file = Path(folder) / "oscar.csv"
        file.write_text(log)
        session.say(f"django-oscar {wanted.version}, {wanted.customers} customers: {log.count('statement: ')} statements logged")
        command = [session.skew, "analyze", file, "--level", wanted.levels]
        session.say(f"$ {session.shown(command)}")
        run = measure(command, wanted.timeout)
        session.say(f"exit code {run.code}, {run.seconds:.0f} s, {run.megabytes:.0f} MB")
        session.say()
        for line in run.output.replace(f"{folder}/", "").splitlines():
            session.say(line)
    session.finish()


if __name__ == "__main__":
    main()
