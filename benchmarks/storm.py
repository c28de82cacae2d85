#!/usr/bin/env python3
"""Random interleavings of random programs on live servers: none comes out that the explorer calls impossible at the engine's level.

    benchmarks/storm.py postgresql         # 2,000 programs at each level
    benchmarks/storm.py mariadb --programs 50
    benchmarks/storm.py mariadb --outcomes 150
    benchmarks/storm.py mock               # the same programs on PostgreSQL and on the mock, side by side

The tests are those that CI runs on fewer programs; outcomes that are not among the explorer's are told with the program and the
interleaving, and end them in failure. `--outcomes` goes the other way: every outcome that the explorer has of small programs is tried on
the server, and what is not seen there is told. With `mock` what matters is that both servers do the same; a run that PostgreSQL made otherwise at
first, and as the mock when it was forced again, is told with its seed and the number of tries.
"""

import argparse

from measure import Session

KEEPS = ["storm", "the mock beside", "outcomes at", "seed ", "  s0:", "  s1:", "  s2:", "  possible:", "  live:", "test result"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["postgresql", "mariadb", "mock"])
    parser.add_argument("--programs", type=int, default=2000, help="how many programs at each level")
    parser.add_argument("--interleavings", type=int, default=1, help="how many interleavings of each")
    parser.add_argument("--whole", type=int, default=50, help="of how many every outcome is found, too")
    parser.add_argument("--outcomes", type=int, help="so many small programs at each level, all their outcomes on the server")
    arguments = parser.parse_args()
    if arguments.outcomes:
        session = Session(f"outcomes-{arguments.engine}")
        tests, environment = f"small_programs_{arguments.engine}_shows", {"SKEW_SMALL": str(arguments.outcomes)}
    elif arguments.engine == "mock":
        session = Session("storm-mock")
        tests = "mocked::"
        environment = {"SKEW_MOCKED": str(arguments.programs), "SKEW_GUSTS": str(arguments.interleavings)}
    else:
        session = Session(f"storm-{arguments.engine}")
        tests = f"whatever_{arguments.engine}_does_at"
        environment = {
            "SKEW_STORM": str(arguments.programs), "SKEW_GUSTS": str(arguments.interleavings), "SKEW_WHOLE": str(arguments.whole),
        }
    code = session.test("skew-cli", "agree", tests, environment, KEEPS, threads=3)
    session.finish()
    raise SystemExit(code)


if __name__ == "__main__":
    main()
