#!/usr/bin/env python3
"""Answers of `skew analyze` about programs by chance, held against the explorer, which makes all runs of drawn calls at the same level.

    benchmarks/soundness.py                       # 1,000 programs at PostgreSQL's levels and 1,000 at the papers': an hour
    benchmarks/soundness.py --programs 100

Each program is asked about alone, and given up after a while: some have so many paths that the answer takes minutes. What is counted is told
at the end; a contradiction is told with its program, and ends the script in failure. The test that CI runs asks about a few.
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
    told = re.search(r"levels: (.*); (\d+) contradictions", done.stdout)
    if told is None:
        return {"failed": 1}, done.stdout + done.stderr
    counts = {what: int(count) for count, what in re.findall(r"(\d+) ([^,;]+)", told.group(1))}
    return counts, done.stdout if int(told.group(2)) else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000, help="how many programs for each group of levels")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--patience", type=float, default=20, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    arguments = parser.parse_args()
    session = Session("soundness")
    test, wrong = executable(), []
    for group, name in LEVELS.items():
        total = {}
        seeds = range(arguments.seed, arguments.seed + arguments.programs)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for counts, told in pool.map(lambda seed: asked(test, name, seed, arguments.patience), seeds):
                for what, count in counts.items():
                    total[what] = total.get(what, 0) + count
                wrong.extend([told] if told else [])
        potential, refuted = total.get("potential", 0), total.get("potential and refuted by drawn calls", 0)
        session.say(f"{group}: seeds {seeds.start} to {seeds.stop - 1}")
        for what, count in sorted(total.items()):
            session.say(f"  {count:6} {what}")
        if potential:
            session.say(f"  {100 * refuted / potential:5.1f} % of potential findings are refuted as far as drawn calls go")
    session.say(f"{len(wrong)} contradictions")
    for told in wrong:
        session.say(told)
    session.finish(keeps=not wrong)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
