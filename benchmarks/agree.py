#!/usr/bin/env python3
"""Random programs in which play, serve, explore and a real PostgreSQL have to agree: 1,000 for the tools, 300 for PostgreSQL.

The same test as `./test` runs a part of (`crates/cli/tests/agree`), with more programs. `--seed` begins elsewhere.
"""

import argparse
import os
import re
import subprocess
import sys

from measure import ROOT, Session
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
    environment = {**os.environ, **wanted, "SKEW_CLIENTS": str(CLIENTS)}
    process = subprocess.Popen(COMMAND, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        # Programs that disagree are for the eye; what was looked at is kept.
        if re.search(r"disagreements$|^test result", line):
            session.say(line.rstrip())
        else:
            session.note(line.rstrip())
    session.finish()
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
