#!/usr/bin/env python3
"""Time and memory of every level, and how they grow from a thousand to a million transactions."""

import argparse

from measure import Session, best_of, count, speed_options

LEVELS = ["rc", "ra", "cc", "pc", "psi", "si", "ser"]
MODES = {"serial": "serializable", "snapshot": "snapshot"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="transactions, separated by commas")
    parser.add_argument("--shape-size", type=int, default=100_000, help="transactions of the histories with odd shapes")
    parser.add_argument("--modes", default="serial,snapshot")
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--format", default="plume", choices=["native", "plume", "dbcop"])
    parser.add_argument("--timeout", type=float, default=1800, help="seconds per process")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--skip-shapes", action="store_true", help="leave out many short sessions and hot keys")
    parser.add_argument("--name", default="speed", help="of the file under results/")
    return parser.parse_args()


def check(session, path, levels, wanted):
    """Measures one check; several levels are one process."""
    command = [session.skew, "check", "--level", ",".join(levels), "--stats", path]
    run = best_of(wanted.repeat, command, wanted.timeout)
    session.note(f"  {session.shown(command)}: {run.verdict}, {run.seconds:.2f} s, {run.megabytes:.0f} MB")
    return run


def cells(run, before=None):
    """Time, memory and verdict; with the same of a smaller history, how both have grown."""
    if run.code is None:
        return ["stopped", "", ""]
    seconds, megabytes = f"{run.seconds:.2f} s", f"{run.megabytes:.0f} MB"
    if before is not None and before.code is not None:
        seconds += f" (×{run.seconds / max(before.seconds, 1e-3):.1f})"
        megabytes += f" (×{run.megabytes / before.megabytes:.1f})"
    return [seconds, megabytes, run.verdict]


def measure_history(session, path, wanted):
    """All levels one by one, then together."""
    levels = wanted.levels.split(",")
    runs = {level: check(session, path, [level], wanted) for level in levels}
    runs["together"] = check(session, path, levels, wanted)
    return runs


def dearest(runs):
    """How the time of all levels together compares with that of the dearest one alone."""
    alone = [(run.seconds, level) for level, run in runs.items() if level != "together"]
    if any(run.code is None for run in runs.values()):
        return "together / dearest: one of them was stopped"
    seconds, level = max(alone)
    return f"together / dearest ({level}): {runs['together'].seconds / max(seconds, 1e-3):.2f}"


def growth(session, mode, wanted):
    """One table per size, with the growth since the size before; then all sizes side by side."""
    session.say(f"## {mode} histories: 8 distinct-key events, 50 % reads, as many keys as transactions")
    sizes = [int(size) for size in wanted.sizes.split(",")]
    all_runs = []
    for size in sizes:
        options = speed_options(MODES[mode], size, output=wanted.format)
        path = session.generate(f"{mode}-{size}.{wanted.format}", options)
        all_runs.append(measure_history(session, path, wanted))
        session.drop(path)
    session.say("$ skew check --level LEVEL --stats FILE")
    for place, size in enumerate(sizes):
        before = all_runs[place - 1] if place else {}
        rows = [[level, *cells(run, before.get(level))] for level, run in all_runs[place].items()]
        session.table([f"{count(size)} transactions", "time", "memory", "verdict"], rows)
        session.say(dearest(all_runs[place]))
        session.say()
    summary(session, sizes, all_runs)


def summary(session, sizes, all_runs):
    """All sizes side by side."""
    for what, shown in (("time", lambda run: f"{run.seconds:.2f} s"), ("memory", lambda run: f"{run.megabytes:.0f} MB")):
        rows = [[level, *("stopped" if runs[level].code is None else shown(runs[level]) for runs in all_runs)]
                for level in all_runs[0]]
        session.table([what, *(count(size) for size in sizes)], rows)


SHAPES = {
    "1,000 short sessions": {"sessions": 1000},
    "hot keys: zipfian": {"distribution": "zipfian"},
    "few keys: 1,000": {"keys": 1000},
}


def shapes(session, mode, wanted):
    """The same at one size, with another shape."""
    size = wanted.shape_size
    for name, changes in SHAPES.items():
        session.say(f"## {mode} histories, {count(size)} transactions, {name}")
        options = speed_options(MODES[mode], size, output=wanted.format, **changes)
        slug = name.split(":")[0].replace(" ", "-").replace(",", "")
        path = session.generate(f"{mode}-{size}-{slug}.{wanted.format}", options)
        runs = measure_history(session, path, wanted)
        session.table(["level", "time", "memory", "verdict"], [[level, *cells(run)] for level, run in runs.items()])
        session.say(dearest(runs))
        session.say()
        session.drop(path)


def main():
    wanted = arguments()
    session = Session(wanted.name)
    for mode in wanted.modes.split(","):
        session.say()
        growth(session, mode, wanted)
        if not wanted.skip_shapes:
            shapes(session, mode, wanted)
    session.finish()


if __name__ == "__main__":
    main()
