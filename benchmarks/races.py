#!/usr/bin/env python3
"""Applications with one race each: how often `skew serve` drives them into it, how often PostgreSQL does by itself, and that the fixed ones pass.

Four are the examples of the book's page about tests that can race, three are programs of the tests whose pools are of another make. Each run is a
process of its own; on the mock it has a database of its own, on PostgreSQL the tables of the run before are dropped.
"""

import argparse
import re
import subprocess
import sys

from measure import ROOT, Session, first_line
from postgresql import CLIENTS, PYTHON, Postgres, set_up
from stories import environment

EXAMPLES = ROOT / "examples" / "racing"
PROGRAMS = ROOT / "crates" / "cli" / "tests" / "clients" / "programs" / "racing"
JARS = ":".join(f"/usr/share/java/{name}.jar" for name in ["HikariCP", "slf4j-api", "slf4j-nop", "postgresql"])
PYTEST = ["pytest", "-q", "-p", "no:cacheprovider"]
APPLICATIONS = [
    ("flask", EXAMPLES / "flask", PYTEST),
    ("django", EXAMPLES / "django", ["python", "manage.py", "test", "-v0", "--noinput"]),
    ("sqlalchemy", EXAMPLES / "sqlalchemy", PYTEST),
    ("express", EXAMPLES / "express", ["node", "--test"]),
    ("hikari", PROGRAMS, ["java", "-cp", JARS, "HikariBank.java"]),
    ("go", PROGRAMS, [CLIENTS / "go" / "bank"]),
    ("optuna", PROGRAMS, ["python", "optuna_study.py"]),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fixed-runs", type=int, default=100)
    parser.add_argument("--racing-runs", type=int, default=40)
    parser.add_argument("--server-runs", type=int, default=20, help="of each, on PostgreSQL")
    parser.add_argument("--only", action="append", help="one of the applications")
    return parser.parse_args()


def given(base, fixed):
    return environment(base, FIXED="1" if fixed else "0", NODE_PATH=str(CLIENTS / "node" / "node_modules"), PGSSLMODE="disable")


def served(session, folder, command, fixed, runs):
    """Failing runs on the mock, and what else the summary says of them."""
    words = [str(word) for word in [session.skew, "serve", "--runs", runs, "--", *command]]
    session.note(f"  FIXED={int(fixed)} {session.shown(words)}")
    done = subprocess.run(words, cwd=folder, env=given(None, fixed), capture_output=True, text=True, check=False)
    failed = re.search(r"fails\s+in (\d+) run", done.stdout)
    if not failed and done.returncode != 0:
        sys.exit(f"{session.shown(words)}\n{done.stdout}\n{done.stderr}")
    return int(failed.group(1)) if failed else 0


def on_postgresql(server, folder, command, fixed, runs):
    """Failing runs on PostgreSQL."""
    failed = 0
    for _ in range(runs):
        base = server.environment()
        subprocess.run(["psql", "-qXc", "DROP SCHEMA public CASCADE; CREATE SCHEMA public"], env=base, capture_output=True, check=True)
        done = subprocess.run([str(word) for word in command], cwd=folder, env=given(base, fixed), capture_output=True, check=False)
        failed += done.returncode != 0
    return failed


def main():
    wanted = arguments()
    set_up()
    session = Session("races")
    session.say(f"others: {first_line([PYTHON, '--version'])}, {first_line(['node', '--version'])}, {first_line(['psql', '--version'])}")
    session.say("$ FIXED=0|1 skew serve --runs N -- COMMAND, in the folder of the application")
    session.say()
    rows = []
    with Postgres() as server:
        for name, folder, command in APPLICATIONS:
            if wanted.only and name not in wanted.only:
                continue
            fixed = served(session, folder, command, True, wanted.fixed_runs)
            server_fixed = on_postgresql(server, folder, command, True, wanted.server_runs)
            row = [name, f"{fixed} of {wanted.fixed_runs}", f"{server_fixed} of {wanted.server_runs}"]
            if name == "optuna":  # it has no race that we know of
                rows.append([*row, "-", "-", "-"])
                continue
            racing = served(session, folder, command, False, wanted.racing_runs)
            server_racing = on_postgresql(server, folder, command, False, wanted.server_runs)
            mean = f"{wanted.racing_runs / racing:.1f}" if racing else "-"
            rows.append([*row, f"{racing} of {wanted.racing_runs}", mean, f"{server_racing} of {wanted.server_runs}"])
    header = ["failing runs", "fixed, mock", "fixed, PostgreSQL", "racing, mock", "runs per failure", "racing, PostgreSQL"]
    session.table(header, rows)
    session.finish(keeps=not wanted.only)


if __name__ == "__main__":
    main()
