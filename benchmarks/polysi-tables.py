#!/usr/bin/env python3
"""The tables of the PolySI talk (VLDB 2023), on our generator with its parameters, at snapshot isolation.

20 sessions × 100 transactions × 15 events on 10,000 zipfian keys. The talk's numbers stand beside ours; its histories came from
PostgreSQL and its constraints are one per pair and key, so only the order of magnitude and the effect of pruning compare.
"""

import argparse
import json

from measure import Session, best_of

PRESETS = {"GeneralRH": "general-rh", "GeneralRW": "general-rw", "GeneralWH": "general-wh", "BlindW": "blind-w"}
# Constraints before and after pruning, unknown dependencies before and after pruning.
TALK = {
    "GeneralRH": ["4k", "29", "39k", "77"],
    "GeneralRW": ["90k", "2565", "401k", "5435"],
    "GeneralWH": ["167k", "6962", "468k", "14376"],
    "BlindW": ["", "", "", ""],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", default="si")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per process")
    parser.add_argument("--name", default="polysi-tables", help="of the file under results/")
    return parser.parse_args()


def check(session, path, wanted, *options):
    """One check with its numbers; no numbers when it was stopped."""
    command = [session.skew, "check", "-q", "--no-explain", "--level", wanted.level, "--stats", "--format", "json", *options, path]
    run = best_of(wanted.repeat, command, wanted.timeout)
    if run.code not in (0, 1, 3):
        session.note(f"  {session.shown(command)}: {run.verdict}\n{run.output[:500]}")
        return run, None
    start = run.output.index('{"skew"')
    return run, json.loads(run.output[start:])["histories"][0]


def statistics(history):
    return history["verdicts"][0]["statistics"]


def left(after, before):
    """What pruning left, as a share."""
    return f"{100 * after / before:.2f} %" if before else ""


def phases(history):
    if history is None:
        return {}
    return {phase["phase"]: phase["seconds"] for phase in history["statistics"]["phases"]}


def pruning_table(session, results):
    session.say("## Pruning")
    rows = []
    for name, ((run, pruned), _) in results.items():
        if pruned is None:
            rows.append([name, run.verdict] + [""] * 7)
            continue
        found = statistics(pruned)
        constraints = [found["constraints_before"], found["constraints_after"]]
        dependencies = [found["unknown_dependencies_before"], found["unknown_dependencies_after"]]
        rows.append([name, run.verdict, *map(str, constraints), left(constraints[1], constraints[0]),
                     *map(str, dependencies), left(dependencies[1], dependencies[0]), str(found["rounds"])])
        talk = TALK[name]
        rows.append(["  in the talk", "", talk[0], talk[1], "", talk[2], talk[3], "", ""])
    session.table(["", "verdict", "constraints", "after pruning", "left", "unknown dependencies", "after pruning", "left",
                   "rounds"], rows)


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
        cells = [name]
        for measured, history in ((run, pruned), (bare_run, bare)):
            search = ["", ""] if history is None else [str(statistics(history)[word]) for word in ("decisions", "conflicts")]
            cells += [f"{measured.seconds:.3f} s", measured.verdict, *search]
        # A run that was stopped took at least so long.
        more = "" if bare is not None else "> "
        rows.append([*cells, f"{more}{bare_run.seconds / run.seconds:.1f}"])
    session.table(["", "with", "verdict", "decisions", "conflicts", "without", "verdict", "decisions", "conflicts",
                   "times slower"], rows)


def main():
    wanted = arguments()
    session = Session(wanted.name)
    results = {}
    for name, preset in PRESETS.items():
        path = session.generate(f"{preset}.jsonl", ["--preset", preset, "--seed", wanted.seed])
        results[name] = (check(session, path, wanted), check(session, path, wanted, "--no-prune"))
    session.say(f"$ skew check -q --no-explain --level {wanted.level} --stats --format json [--no-prune] FILE")
    session.say()
    pruning_table(session, results)
    phase_table(session, results)
    ablation_table(session, results)
    session.finish()


if __name__ == "__main__":
    main()
