#!/usr/bin/env python3
"""The polynomial levels beside AWDIT: the same Plume files, both as whole processes, in turns."""

import argparse
import hashlib
import os
from pathlib import Path

from measure import Session, count, measure, speed_options

LEVELS = {"rc": "read-committed", "ra": "read-atomic", "cc": "causal"}
MODES = {"serial": "serializable", "snapshot": "snapshot"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000", help="transactions, separated by commas")
    parser.add_argument("--modes", default="serial,snapshot")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds per process")
    parser.add_argument("--repeat", type=int, default=3, help="turns of which the fastest of each counts")
    parser.add_argument("--name", default="peers", help="of the file under results/")
    return parser.parse_args()


def in_turns(first, second, wanted):
    """Runs both in turns, so that a busy moment of the machine hits both; the fastest of each."""
    best = [None, None]
    for _ in range(wanted.repeat):
        for place, command in enumerate([first, second]):
            run = measure(command, wanted.timeout)
            if best[place] is None or run.seconds < best[place].seconds:
                best[place] = run
        if max(run.seconds for run in best) > 60:
            break
    return best


def peer_verdict(run):
    """AWDIT's exit code is 0 whatever it finds; its output says it."""
    if run.code is None:
        return "stopped"
    return "fails" if "Inconsistent." in run.output else "holds" if "Consistent." in run.output else f"exit {run.code}"


def compare(session, awdit, mode, wanted):
    rows = []
    for size in (int(size) for size in wanted.sizes.split(",")):
        path = session.generate(f"{mode}-{size}.plume", speed_options(MODES[mode], size))
        for level, peer_level in LEVELS.items():
            ours, theirs = in_turns(
                [session.skew, "check", "--level", level, "--stats", path],
                [awdit, "check", "-i", peer_level, path],
                wanted,
            )
            session.note(f"  {mode} {size} {level}: {ours.seconds:.2f} s, AWDIT {theirs.seconds:.2f} s")
            rows.append([
                f"{mode} {count(size)} {level}",
                f"{ours.seconds:.2f} s", f"{theirs.seconds:.2f} s", f"{theirs.seconds / ours.seconds:.1f}",
                f"{ours.megabytes:.0f} MB", f"{theirs.megabytes:.0f} MB", f"{ours.megabytes / theirs.megabytes:.2f}",
                ours.verdict, peer_verdict(theirs),
            ])
        session.drop(path)
    session.say("$ skew check --level LEVEL --stats FILE")
    session.say("$ awdit check -i LEVEL FILE")
    session.table(
        ["history", "skew", "AWDIT", "times faster", "skew", "AWDIT", "share of memory", "skew says", "AWDIT says"], rows
    )


def main():
    wanted = arguments()
    awdit = os.environ.get("AWDIT")
    if not awdit:
        print("skipped: AWDIT is not set to the path of AWDIT's binary")
        return
    session = Session(wanted.name)
    session.say(f"AWDIT: a binary with SHA-256 {hashlib.sha256(Path(awdit).read_bytes()).hexdigest()[:16]}…")
    for mode in wanted.modes.split(","):
        session.say()
        compare(session, awdit, mode, wanted)
    session.finish()


if __name__ == "__main__":
    main()
