#!/usr/bin/env python3
"""Every real client on the mock, in `latest` and by chance, at every level; ordinary test suites twenty times at every level.

The same test as `./test` runs a part of, with everything switched on, from a release build. Takes the better part of an hour.
"""

import re
import sys

from measure import ROOT, Session, first_line
from postgresql import CLIENTS, PYTHON, set_up

COMMAND = ["cargo", "test", "--release", "--quiet", "-p", "skew-cli", "--test", "clients", "--", "--nocapture", "--test-threads=1"]


def versions(session):
    wanted = (ROOT / "crates/cli/tests/clients/programs/requirements.txt").read_text()
    session.say("Python: " + ", ".join(line for line in wanted.splitlines() if re.match("(?i)(psycopg|asyncpg|sqlalchemy|django)", line)))
    session.say("others: " + ", ".join(first_line(words) for words in [
        [PYTHON, "--version"], ["node", "--version"], ["psql", "--version"], ["pgbench", "--version"], ["java", "-version"]]))


def main():
    set_up()
    session = Session("clients")
    versions(session)
    session.say("$ SKEW_CLIENTS_ALL=1 " + " ".join(COMMAND))
    # What failing programs print is for the eye; tables and the count are kept.
    kept = re.compile(r"(\S.*\s(ok|fails|as it is|serializable)\s*$)|test result|random|latest|suites|PostgreSQL")
    code = session.follow(COMMAND, {"SKEW_CLIENTS": str(CLIENTS), "SKEW_CLIENTS_ALL": "1"}, kept.match)
    session.finish()
    sys.exit(code)


if __name__ == "__main__":
    main()
