#!/usr/bin/env python3
"""Random programs in which play, serve, explore and a real PostgreSQL have to agree: 1,000 for the tools, 300 for PostgreSQL.

The same test as `./test` runs a part of (`crates/cli/tests/agree`), with more programs. `--seed` begins elsewhere.
"""

import argparse
import re
import sys

from measure import Session
from postgresql import CLIENTS, set_up

COMMAND = ["cargo", "test", "--quiet", "--workspace", "--test", "agree", "--", "--nocapture", "--test-threads=1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", default="1000")
    parser.add_argument("--server-programs", default="300")
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    set_up()
    session = Session("agree")
    wanted = {
        "SKEW_PROGRAMS": arguments.programs,
        "SKEW_SERVER_PROGRAMS": arguments.server_programs,
        "SKEW_SEED": arguments.seed,
    }
    session.say("$ " + " ".join(f"{name}={value}" for name, value in wanted.items()) + " " + " ".join(COMMAND))
    # Programs that disagree are for the eye; what was looked at is kept.
    kept = re.compile(r"disagreements$|^test result")
    code = session.follow(COMMAND, {**wanted, "SKEW_CLIENTS": str(CLIENTS)}, kept.search)
    session.finish()
    sys.exit(code)


if __name__ == "__main__":
    main()
