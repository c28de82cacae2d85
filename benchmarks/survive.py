#!/usr/bin/env python3
"""The fixed versions of `examples/bugs` on live servers: random interleavings are forced, and no assertion fails in any of them.

    benchmarks/survive.py                  # 1,000 runs of each fix on PostgreSQL and on MariaDB: hours
    benchmarks/survive.py --runs 30

The tests are those that CI runs a few times.
"""

import argparse

from measure import Session

KEEPS = ["live runs", " at pg:", " at mysql:", "test result"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="how many runs of each fix on each engine")
    arguments = parser.parse_args()
    session = Session("survive")
    code = session.test("skew-cli", "agree", "the_fixes", {"SKEW_SURVIVE": str(arguments.runs)}, KEEPS)
    session.finish(keeps=code == 0)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
