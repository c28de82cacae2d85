#!/usr/bin/env python3
"""Answers of `skew analyze` about programs by chance, held against the explorer, which makes all runs of drawn calls at the same level.

    benchmarks/soundness.py                       # 500 programs at PostgreSQL's levels and 500 at the papers': half an hour
    benchmarks/soundness.py papers --programs 100

Each program is asked about alone, in a process of its own, which is given up after a while; that is counted, too. What is counted is told at the
end; a contradiction is told with its program, and ends the script in failure. The test that CI runs asks about a few.
"""

import argparse
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from measure import ROOT, Session

LEVELS = {"postgresql": "answers_about_postgresql", "papers": "answers_about_the_levels"}


def executable():
    """The test's executable: SOUNDNESS names one, else it is built with optimisation."""
    if "SOUNDNESS" in os.environ:
        return os.environ["SOUNDNESS"]
    command = ["cargo", "test", "--release", "-p", "skew-campaign", "--test", "soundness", "--no-run"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return re.search(r"\(([^()]*soundness[^()]*)\)", done.stderr).group(1)


def asked(test, name, seed, patience):
    """What one program adds: counts by name, and the lines of contradictions."""
    environment = {**os.environ, "SKEW_SEED": str(seed), "SKEW_PROGRAMS": "1"}
    try:
        done = subprocess.run([test, "--nocapture", name], env=environment, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return {"given up": 1}, ""
    said = done.stdout + done.stderr
    told = re.search(r"levels: (.*); (\d+) contradictions", said)
    if told is None:
        return {"failed": 1}, said
    counts = {what: int(count) for count, what in re.findall(r"(\d+) ([^,;]+)", told.group(1))}
    return counts, said if int(told.group(2)) else ""


def run(session, test, levels, arguments):
    """One kind of levels; gives what contradicts."""
    total, wrong = {}, []
    seeds = range(arguments.seed, arguments.seed + arguments.programs)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        asking = pool.map(lambda seed: asked(test, LEVELS[levels], seed, arguments.patience), seeds)
        for done, (counts, told) in enumerate(asking, 1):
            for what, count in counts.items():
                total[what] = total.get(what, 0) + count
            wrong.extend([told] if told else [])
            if done % 20 == 0:
                session.note(f"{levels}: {done} programs, {len(wrong)} contradictions")
    session.say(f"{levels}: seeds {seeds.start} to {seeds.stop - 1}")
    for what, count in sorted(total.items()):
        session.say(f"  {count:6} {what}")
    if total.get("potential"):
        refuted = total.get("potential and refuted by drawn calls", 0)
        share = 100 * refuted / total["potential"]
        session.say(f"  {share:5.1f} % of potential findings are refuted as far as drawn calls go")
    session.say(f"  {len(wrong):6} contradictions")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("levels", choices=[*LEVELS, "all"], nargs="?", default="all")
    parser.add_argument("--programs", type=int, default=500, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--patience", type=float, default=120, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    arguments = parser.parse_args()
    session = Session("soundness" if arguments.levels == "all" else f"soundness-{arguments.levels}")
    test, wrong = executable(), []
    for levels in LEVELS if arguments.levels == "all" else [arguments.levels]:
        wrong += run(session, test, levels, arguments)
    for told in wrong:
        session.say(told)
    session.finish(keeps=not wrong)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
