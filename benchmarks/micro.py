#!/usr/bin/env python3
"""The micro-benchmarks of the MonkeyDB paper (section 7) on the mock database, through its key-value face.

Three sessions with three operations each, drawn with the seed of the iteration; every run's history is checked at its level. The first
table has the mean number of iterations until an assertion fails, beside Table 1 of the paper; the second the distinct
client-observable states against iterations, as Figure 13, beside the maximum, which is enumerated: all orders of arrival and all
versions. Harnesses with more runs than the limit are left out and counted.
"""

import argparse
import subprocess
import sys

from measure import Session


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=10_000, help="at most so many runs per campaign")
    parser.add_argument("--harnesses", type=int, default=8, help="so many harnesses per application for the states")
    parser.add_argument("--most-runs", type=int, default=30_000, help="enumerate at most so many runs of a harness")
    return parser.parse_args()


def show(session, words):
    """The example's tables are lines already."""
    session.say(f"$ {session.shown([session.skew, *words])}")
    process = subprocess.Popen([session.skew, *words], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        session.say(line.rstrip())
    session.say()
    if process.wait() != 0:
        sys.exit(f"{words[0]}: exit {process.returncode}")


def main():
    wanted = arguments()
    session = Session("micro", ("skew-mockdb", "micro"))
    session.say()
    show(session, ["failures", str(wanted.iterations)])
    show(session, ["coverage", str(wanted.harnesses), str(wanted.most_runs)])
    session.finish()


if __name__ == "__main__":
    main()
