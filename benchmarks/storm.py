#!/usr/bin/env python3
"""Random interleavings of random programs on live servers: none comes out that the explorer calls impossible at the engine's level.

    benchmarks/storm.py postgresql         # 2,000 programs at each level: twenty minutes
    benchmarks/storm.py mariadb --programs 50

The tests are those that CI runs on a few; outcomes that are not among the explorer's are told with the program and the interleaving, and
end them in failure.
"""

import argparse

from measure import Session

KEEPS = ["storm", "  s0:", "  s1:", "  s2:", "  possible:", "test result"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["postgresql", "mariadb"])
    parser.add_argument("--programs", type=int, default=2000, help="how many programs at each level")
    parser.add_argument("--interleavings", type=int, default=1, help="how many interleavings of each")
    arguments = parser.parse_args()
    session = Session(f"storm-{arguments.engine}")
    environment = {"SKEW_STORM": str(arguments.programs), "SKEW_GUSTS": str(arguments.interleavings)}
    code = session.test("skew-cli", "agree", f"whatever_{arguments.engine}_does_at", environment, KEEPS)
    session.finish()
    raise SystemExit(code)


if __name__ == "__main__":
    main()
