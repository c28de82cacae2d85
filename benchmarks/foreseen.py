#!/usr/bin/env python3
"""Predictions held against brute force on random small histories: every level, both boundaries, exact and approximate, locking reads included.

    benchmarks/foreseen.py                 # 5,000 histories of each kind: some minutes
    benchmarks/foreseen.py --histories 500

The test is the one that CI runs on a few hundred; a disagreement ends it with the history that shows it.
"""

import argparse

from measure import Session

KEEPS = ["histories", "panicked", "test result", ": s0"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=5000, help="how many histories of each kind")
    arguments = parser.parse_args()
    session = Session("foreseen")
    environment = {"SKEW_PREDICT_HISTORIES": str(arguments.histories)}
    code = session.test("skew-predict", "predict", "random", environment, KEEPS)
    session.finish(keeps=code == 0 and arguments.histories >= 5000)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
