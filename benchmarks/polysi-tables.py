#!/usr/bin/env python3
"""The tables of the PolySI talk (VLDB 2023), on our generator with its parameters, at snapshot isolation.

20 sessions × 100 transactions × 15 events on 10,000 zipfian keys. The talk's numbers stand beside ours; its histories came from
PostgreSQL and its constraints are one per pair and key, so only the order of magnitude and the effect of pruning compare.
"""

import argparse
import json

from measure import Session, measure

PRESETS = {"GeneralRH": "general-rh", "GeneralRW": "general-rw", "GeneralWH": "general-wh", "BlindW": "blind-w"}
# Constraints before and after pruning, unknown dependencies before and after pruning.
TALK = {
    "GeneralRH": ["4k", "29", "39k", "77"],
    "GeneralRW": ["90k", "2565", "401k", "5435"],
    "GeneralWH": ["167k", "6962", "468k", "14376"],
    "BlindW": ["", "", "", ""],
}
NUMBERS = [
    "constraints_before", "constraints_after", "unknown_dependencies_before", "unknown_dependencies_after",
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", default="si")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=600, help="seconds per process")
    parser.add_argument("--name", default="polysi-tables", help="of the file under results/")
    return parser.parse_args()


def check(session, path, wanted, *options):
    """One check with its numbers; no numbers when it was stopped."""
    command = [session.skew, "check", "-q", "--level", wanted.level, "--stats", "--format", "json", *options, path]
    run = measure(command, wanted.timeout)
    if run.code not in (0, 1, 3):
        session.note(f"  {session.shown(command)}: {run.verdict}\n{run.output[:500]}")
        return run, None
    start = run.output.index('{"skew"')
    return run, json.loads(run.output[start:])["histories"][0]


def numbers(history):
    if history is None:
        return [""] * len(NUMBERS)
    found = history["verdicts"][0]["statistics"]
    return [str(found[name]) for name in NUMBERS]


def phases(history):
    if history is None:
        return {}
    return {phase["phase"]: phase["seconds"] for phase in history["statistics"]["phases"]}


def pruning_table(session, results):
    session.say("## Pruning")
    rows = []
    for name, ((_, pruned), _) in results.items():
        rows.append([name, *numbers(pruned)])
        rows.append(["  in the talk", *TALK[name]])
    session.table(["", "constraints before", "after", "unknown dependencies before", "after"], rows)


def phase_table(session, results):
    session.say("## Time per phase, in milliseconds")
    names = []
    for (_, pruned), _ in results.values():
        names += [phase for phase in phases(pruned) if phase not in names]
    rows = []
    for name, ((run, pruned), _) in results.items():
        times = phases(pruned)
        rows.append([name, *(f"{1000 * times[phase]:.1f}" if phase in times else "" for phase in names),
                     f"{1000 * run.seconds:.1f}", f"{run.megabytes:.0f} MB"])
    session.table(["", *names, "whole process", "memory"], rows)


def ablation_table(session, results):
    session.say("## Without pruning")
    rows = []
    for name, ((run, pruned), (bare_run, bare)) in results.items():
        conflicts = ["" if history is None else str(history["verdicts"][0]["statistics"]["conflicts"])
                     for history in (pruned, bare)]
        ratio = "" if bare is None else f"{bare_run.seconds / run.seconds:.1f}"
        rows.append([name, f"{run.seconds:.3f} s", run.verdict, conflicts[0],
                     f"{bare_run.seconds:.3f} s", bare_run.verdict, conflicts[1], ratio])
    session.table(["", "with", "verdict", "conflicts", "without", "verdict", "conflicts", "times slower"], rows)


def main():
    wanted = arguments()
    session = Session(wanted.name)
    results = {}
    for name, preset in PRESETS.items():
        path = session.generate(f"{preset}.jsonl", ["--preset", preset, "--seed", wanted.seed])
        results[name] = (check(session, path, wanted), check(session, path, wanted, "--no-prune"))
    session.say(f"$ skew check -q --level {wanted.level} --stats --format json [--no-prune] FILE")
    session.say()
    pruning_table(session, results)
    phase_table(session, results)
    ablation_table(session, results)
    session.finish()


if __name__ == "__main__":
    main()
