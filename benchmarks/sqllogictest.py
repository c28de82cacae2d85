#!/usr/bin/env python3
"""What other databases answered, asked of Skew's SQL: the public sqllogictest corpus.

Takes the folder `test` of a copy of the corpus, which nothing here gets: the files select1 to select5 whole, then the random sets and the
index sets for as long as `--seconds` says. The share of applicable records that are right, and failures by cause.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=600, help="for the random and index sets")
    parser.add_argument("--dialect", default="postgres", choices=["postgres", "mysql"])
    given = parser.parse_args()
    build = ["cargo", "build", "--quiet", "--release", "-p", "skew-sql", "--example", "sqllogictest"]
    subprocess.run(build, cwd=ROOT, check=True)
    runner = ROOT / "target/release/examples/sqllogictest"
    whole = sorted(given.folder.glob("select*.test"))
    sets = [given.folder / name for name in ("random", "index") if (given.folder / name).is_dir()]
    if not whole or not sets:
        sys.exit(f"{given.folder} is not the folder `test` of the corpus: it has no select1.test or no folder random")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [f"benchmarks/sqllogictest.py FOLDER --seconds {given.seconds} --dialect {given.dialect}", f"commit {commit.stdout.strip()}"]
    for paths, seconds in ((whole, []), (sets, ["--seconds", str(given.seconds)])):
        words = [runner, "--dialect", given.dialect, "--failures", "0", *seconds, *paths]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines += ["", ", ".join(path.name for path in paths) + ":"]
        lines += [line for line in done.stdout.splitlines() if not line.startswith(str(given.folder))]
    report = "\n".join(lines) + "\n"
    print(report, end="")
    (ROOT / f"benchmarks/results/sqllogictest-{given.dialect}.txt").write_text(report)


main()
