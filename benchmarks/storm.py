#!/usr/bin/env python3
"""Random interleavings of random programs on live servers: none comes out that the explorer calls impossible at the engine's level.

    benchmarks/storm.py                    # 300 programs on PostgreSQL and MariaDB: half an hour
    benchmarks/storm.py --programs 50

The test is the one that CI runs on a few; an outcome that is not among the explorer's ends it with the program and the interleaving.
"""

import argparse
import os
import subprocess

from measure import ROOT, Session

COMMAND = ["cargo", "test", "--quiet", "-p", "skew-cli", "--test", "agree", "storm", "--", "--nocapture", "--test-threads=1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=300, help="how many programs")
    arguments = parser.parse_args()
    session = Session("storm")
    session.say(f"$ SKEW_STORM={arguments.programs} {' '.join(COMMAND)}")
    environment = dict(os.environ, SKEW_STORM=str(arguments.programs))
    done = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        if "storm on" in line or "seed" in line or "test result" in line or line.startswith("s"):
            session.say(line)
    session.finish(keeps=done.returncode == 0 and arguments.programs >= 300)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
