#!/usr/bin/env python3
"""What a committed single-row read-modify-write costs the mock database, early in a run and late.

Four sessions, events interleaved, on one hot key and on ten, until so many transactions have committed; every run is a process of its own.
The cost of one must not grow with the history, and memory must not grow once the horizon is reached.
"""

import argparse
import subprocess
import sys

from measure import Session

LEVELS = ["read-committed", "read-atomic", "causal", "prefix", "psi", "snapshot", "serializable"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--faces", default="get,get-for-update,sql")
    parser.add_argument("--keys", default="1,10")
    parser.add_argument("--repeat", type=int, default=2, help="the least of so many runs counts")
    return parser.parse_args()


def run(session, words):
    """The numbers of one run, by name."""
    done = subprocess.run([session.skew, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    parts = done.stdout.split()
    return {name: float(number) for name, number in zip(parts[::2], parts[1::2])}


def least(session, repeat, words):
    session.note("  " + " ".join(words))
    return min((run(session, words) for _ in range(repeat)), key=lambda numbers: numbers["seconds"])


def row(session, repeat, face, level, keys):
    early, middle, late = (least(session, repeat, [face, level, keys, count]) for count in ("1000", "5000", "20000"))
    few = least(session, repeat, [face, level, keys, "60"])
    return [f"{face} {level} {keys}", f"{early['each']:.1f} µs", f"{late['each']:.1f} µs",
            f"{late['each'] / early['each']:.2f}", f"{late['attempts']:.0f}",
            f"{middle['versions']:.0f} → {late['versions']:.0f}",
            f"{middle['kilobytes'] / 1000:.1f} → {late['kilobytes'] / 1000:.1f} MB",
            f"{late['kilobytes'] / middle['kilobytes']:.2f}", f"{few['seconds']:.4f} s"]


def main():
    wanted = arguments()
    session = Session("cost", ("skew-mockdb", "cost"))
    session.say("$ cost FACE LEVEL KEYS TRANSACTIONS")
    session.say("CPU time per commit of a run with 1,000 and with 20,000, attempts at 20,000, versions kept and peak memory at 5,000 and")
    session.say("20,000, and CPU seconds of a run with 60, for which the paper's server needed 3.7")
    session.say()
    rows = [row(session, wanted.repeat, face, level, keys)
            for face in wanted.faces.split(",") for level in wanted.levels.split(",") for keys in wanted.keys.split(",")]
    session.table(["face, level, keys", "at 1,000", "at 20,000", "ratio", "attempts", "versions", "memory", "ratio", "60"], rows)
    session.finish()


if __name__ == "__main__":
    main()
