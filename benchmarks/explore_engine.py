#!/usr/bin/env python3
"""How many histories of an application the explorer keeps at the levels of engines, in a given time.

    benchmarks/explore_engine.py                                  # tpcc.sql at six levels, at most 60 s each: six minutes
    benchmarks/explore_engine.py --timeout 10 examples/applications/courseware.sql

Seconds are of processor time, so that other work on the machine does not count; the limit is of the clock.
"""

import argparse
import json
from pathlib import Path

from measure import ROOT, Session, measure

LEVELS = ["pg:rc", "pg:rr", "pg:ser", "mysql:rc", "mysql:rr", "mysql:ser"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "examples" / "applications" / "tpcc.sql", type=Path)
    parser.add_argument("--timeout", type=int, default=60, help="seconds per level")
    arguments = parser.parse_args()
    session = Session("explore-engine")
    session.say(f"$ skew explore {arguments.program.name} --level … --timeout {arguments.timeout}s --format json")
    session.say()
    rows = []
    for level in LEVELS:
        command = [session.skew, "explore", arguments.program, "--level", level, "--timeout", f"{arguments.timeout}s", "--format", "json"]
        run = measure(command, 10 * arguments.timeout)
        found = json.loads(run.output[run.output.index("{"):])["levels"][0]
        refused = sum(found["refused"].values())
        rows.append([level, str(found["histories"]), str(found["explored"]), str(refused), "yes" if found["complete"] else "no",
                     f"{run.seconds:.0f}", f"{run.processor:.0f}", f"{run.megabytes:.0f}"])
    session.table(["", "histories", "explored", "refusals", "complete", "seconds", "of processor", "MB"], rows)
    session.finish()


if __name__ == "__main__":
    main()
