#!/usr/bin/env python3
"""How fast the search is, in histories per second, and what memory it takes as histories grow.

The first table is of the client programs of the DPOR paper's tool, whose files are not part of this project: `SKEW_SHARED` names the folder
that has them as `explore-programs`. Each is explored at causal, then by the plain search and at weaker bases, and stands beside the time that
the paper's tool needed (Apple M1). Times are of processor time, so other work on the machine matters little.

The second is one large program, explored up to 10,000, 100,000 and 1,000,000 histories: the most memory that the process ever held.
"""

import argparse
import os
import re
from pathlib import Path

from applications import APPLICATIONS, Application
from measure import ROOT, Session, build_example, measure

# Minutes and seconds that the paper's tool needed at causal.
PROGRAMS = {
    "courseware/case1": "0:22", "courseware/case2": "0:06", "courseware/case3": "12:43", "shoppingCart/case1": "0:24",
    "shoppingCart/case2": "1:03", "shoppingCart/case5": "18:49", "twitter/case1": "0:07", "twitter/case2": "0:51",
}
WAYS = {"causal": [], "base ra": ["ra"], "base rc": ["rc"], "base none": ["none"], "dfs": ["dfs"]}
LINE = re.compile(r"(\d+) runs at \S+, (\d+) (?:explored|ends of orders), ([0-9.]+) s")


class Counted:
    """One program explored in one way; nothing when it was stopped."""

    def __init__(self, example, folder, way, timeout):
        run = measure([example, folder, "causal", *way], timeout)
        found = LINE.search(run.output) if run.code == 0 else None
        self.done = found is not None
        self.runs, self.ends = (int(found[1]), int(found[2])) if found else (0, 0)
        self.seconds = run.processor


def seconds_of(text):
    minutes, seconds = text.split(":")
    return 60 * int(minutes) + int(seconds)


def speed(session, folder, timeout):
    """Histories per second at causal; how much longer the other ways take, and the paper's tool took."""
    example = build_example("skew-explore", "applications")
    session.say(f"$ applications FOLDER causal [ra | rc | none | dfs], at most {timeout} s each")
    session.say()
    rows = []
    for name, paper in PROGRAMS.items():
        session.note(f"  {name}")
        counted = {way: Counted(example, folder / name, words, timeout) for way, words in WAYS.items()}
        causal = counted["causal"]
        row = [name, str(causal.runs), f"{causal.seconds:.2f}", f"{causal.runs / causal.seconds:.0f}",
               paper, f"{seconds_of(paper) / causal.seconds:.0f}"]
        for way in list(WAYS)[1:]:
            it = counted[way]
            row += [str(it.ends), f"{it.seconds / causal.seconds:.1f}"] if it.done else ["-", f"> {it.seconds / causal.seconds:.0f}"]
        rows.append(row)
    header = ["", "histories", "seconds", "per second", "the paper's", "ratio"]
    for way in list(WAYS)[1:]:
        header += [f"ends, {way}", "time"]
    session.table(header, rows)


def memory(session, sizes):
    """The most memory at different numbers of histories of one program."""
    program = Path(session.folder) / "large.sql"
    program.write_text(Application(APPLICATIONS / "courseware.sql").client(1, 5, 4))
    session.say("$ applications.py courseware.sql --seed 1 --sessions 5 --transactions 4 > large.sql")
    session.say("$ skew explore large.sql --level causal --updates plain --budget N")
    session.say()
    rows, first = [], None
    for size in sizes:
        run = measure([session.skew, "explore", program, "--level", "causal", "--updates", "plain", "--budget", str(size)], 3600)
        first = first or run.megabytes
        rows.append([str(size), f"{run.megabytes:.1f}", f"{run.megabytes / first:.2f}", f"{size / run.processor:.0f}"])
    session.table(["histories", "MB at most", "of the first", "per second"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeout", type=int, default=60, help="seconds per program and way")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of histories for the second table")
    wanted = parser.parse_args()
    session = Session("histories")
    folder = Path(os.environ.get("SKEW_SHARED", ROOT.parent / "shared")) / "explore-programs"
    if folder.is_dir():
        speed(session, folder, wanted.timeout)
    else:
        session.say("the paper's programs are not here: SKEW_SHARED names no folder with explore-programs")
    memory(session, [int(size) for size in wanted.sizes.split(",")])
    session.finish()


if __name__ == "__main__":
    main()
