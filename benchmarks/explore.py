#!/usr/bin/env python3
"""Exploring the five applications: histories, end states, time and memory per level and base, beside the plain search; and how it scales.

The programs are those that `applications.py` draws: per application five of 3 sessions × 3 transactions, as in Fig. 14 of the DPOR
paper, and the two series of its Fig. 15. A program that takes longer than the timeout is counted as such and left out of the sums, on
both sides of a ratio. Seconds are of processor time; ratios are of the sums, and as the paper has it, the mean of the ratios of single
programs. Updates are plain, as in the paper, whose model keys the ids of a table as one variable; here every row is
a key of its own and a scan reads its range, so that the numbers of histories differ.
"""

import argparse
import json
import re
from pathlib import Path

from applications import programs
from measure import Session, measure

# How a row is called, the level, and the options that make it.
WAYS = [
    ("causal", ["--level", "causal"]),
    ("causal, base ra", ["--level", "causal", "--base", "read-atomic"]),
    ("causal, base rc", ["--level", "causal", "--base", "read-committed"]),
    ("causal, base none", ["--level", "causal", "--base", "none"]),
    ("causal, dfs", ["--level", "causal", "--algorithm", "dfs"]),
    ("snapshot", ["--level", "snapshot"]),
    ("serializable", ["--level", "serializable"]),
    ("read-committed", ["--level", "read-committed"]),
    ("read-atomic", ["--level", "read-atomic"]),
    ("prefix", ["--level", "prefix"]),
    ("psi", ["--level", "psi"]),
]


class Explored:
    """One program explored in one way; no counts when it was stopped."""

    def __init__(self, session, program, options, timeout):
        command = [session.skew, "explore", program, *options, "--updates", "plain", "--timeout", f"{timeout}s", "--format", "json"]
        run = measure(command, timeout + 30)
        self.seconds, self.megabytes = run.processor, run.megabytes
        try:
            level = json.loads(run.output[run.output.index("{"):])["levels"][0]
        except (ValueError, KeyError):
            level = {"complete": False, "histories": 0, "explored": 0}
        self.complete, self.histories, self.ends = level["complete"], level["histories"], level["explored"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeout", type=int, default=60, help="seconds per program and way")
    parser.add_argument("--programs", type=int, default=5, help="per application")
    parser.add_argument("--ways", default="", help="only those whose name begins so")
    parser.add_argument("--no-series", action="store_true")
    return parser.parse_args()


def table(session, wanted, files):
    """Sums over the programs that both a way and plain causal finish, and the ratio of the two."""
    by_way = {}
    for name, options in WAYS:
        if name == "causal" or name.startswith(wanted.ways):
            session.note(f"  {name}")
            by_way[name] = [Explored(session, file, options, wanted.timeout) for file in files]
    rows = []
    for name, explored in by_way.items():
        both = [(one, base) for one, base in zip(explored, by_way["causal"]) if one.complete and base.complete]
        ends = sum(one.ends for one, _ in both)
        seconds = sum(one.seconds for one, _ in both)
        rows.append([
            name, f"{len(both)} of {len(files)}", str(sum(one.histories for one, _ in both)), str(ends),
            f"{ends / max(1, sum(base.ends for _, base in both)):.1f}", f"{seconds:.1f}",
            f"{seconds / max(0.001, sum(base.seconds for _, base in both)):.1f}",
            f"{sum(one.seconds / max(0.001, base.seconds) for one, base in both) / max(1, len(both)):.1f}",
            f"{max((one.megabytes for one, _ in both), default=0):.0f}",
        ])
    session.table(["", "in time", "histories", "end states", "of causal", "seconds", "of causal", "mean ratio", "MB at most"], rows)


def series(session, wanted, files):
    """Histories and seconds at causal as programs grow."""
    rows = []
    for name, sizes in files.items():
        for size, paths in sorted(sizes.items()):
            explored = [Explored(session, path, WAYS[0][1], wanted.timeout) for path in paths]
            done = [one for one in explored if one.complete]
            rows.append([f"{name} {size}", f"{len(done)} of {len(paths)}", str(sum(one.histories for one in done)),
                         f"{sum(one.seconds for one in done):.1f}", f"{max((one.megabytes for one in explored), default=0):.0f}"])
    session.table(["sessions × transactions", "in time", "histories", "seconds", "MB at most"], rows)


def main():
    wanted = arguments()
    session = Session("explore")
    session.say(f"$ skew explore PROGRAM --level … --updates plain --timeout {wanted.timeout}s --format json")
    session.say()
    plain, growing = [], {}
    for file, text in programs():
        path = Path(session.folder) / file
        path.write_text(text)
        application, seed, size = re.fullmatch(r"(.*)-(\d+)-(\dx\d)\.sql", file).groups()
        if int(seed) > wanted.programs:
            continue
        growing.setdefault(application, {}).setdefault(size, []).append(path)
        if size == "3x3":
            plain.append(path)
    table(session, wanted, plain)
    if not wanted.no_series:
        series(session, wanted, {name: sizes for name, sizes in growing.items() if len(sizes) > 1})
    session.finish()


if __name__ == "__main__":
    main()
