#!/usr/bin/env python3
"""Predictions held against brute force on random small histories: every level, both boundaries, exact and approximate, locking reads included.

    benchmarks/foreseen.py                 # 5,000 histories of each kind: some minutes
    benchmarks/foreseen.py --histories 500

The test is the one that CI runs on a few hundred; a disagreement ends it with the history that shows it.
"""

import argparse
import os
import subprocess

from measure import ROOT, Session

COMMAND = ["cargo", "test", "--quiet", "-p", "skew-predict", "--test", "predict", "random", "--", "--nocapture", "--test-threads=1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=5000, help="how many histories of each kind")
    arguments = parser.parse_args()
    session = Session("foreseen")
    session.say(f"$ SKEW_PREDICT_HISTORIES={arguments.histories} {' '.join(COMMAND)}")
    environment = dict(os.environ, SKEW_PREDICT_HISTORIES=str(arguments.histories))
    done = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        if "histories" in line or "panicked" in line or "test result" in line or ": s0" in line:
            session.say(line)
    session.finish(keeps=done.returncode == 0 and arguments.histories >= 5000)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
