#!/usr/bin/env python3
"""How often probabilistic concurrency testing finds bugs of known depth, beside the rate that it promises.

    benchmarks/pct.py               # 500 runs of each of ten bugs
    benchmarks/pct.py --runs 50

With n clients that take k steps together a bug of depth d is found with probability 1/(n k^(d-1)) at least. The test is the one that CI runs
with 30 runs of each; its clients are scripts that say what they say without thinking.
"""

import argparse

from measure import Session


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500, help="how many runs of each bug")
    arguments = parser.parse_args()
    session = Session("pct")
    tests = "bugs_of_known_depth_are_found_as_often_as_promised"
    code = session.test("skew-mockdb", "wire", tests, {"SKEW_PCT": str(arguments.runs)}, ["pct: ", "test result"])
    session.finish()
    raise SystemExit(code)


if __name__ == "__main__":
    main()
