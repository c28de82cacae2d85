#!/usr/bin/env python3
"""What other databases answered, asked of Skew's SQL: the public sqllogictest corpus.

Takes the folder `test` of a copy of the corpus, which nothing here gets: the files select1 to select5 whole, then the random sets and the
index sets for as long as `--seconds` says. The share of applicable records that are right, and failures by cause; the script fails where
less than 99 % are.
"""

import argparse
import pathlib
import subprocess
import sys

from measure import Session


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=600, help="for the random and index sets")
    parser.add_argument("--dialect", default="postgres", choices=["postgres", "mysql"])
    return parser.parse_args()


def corpus(folder):
    """The files that are asked whole, and the folders that are asked for a while."""
    whole = sorted(folder.glob("select*.test"))
    sets = [folder / name for name in ("random", "index") if (folder / name).is_dir()]
    if not whole or not sets:
        sys.exit(f"{folder} is not the folder `test` of the corpus: it has no select1.test or no folder random")
    return whole, sets


def ask(session, wanted, paths, options):
    """Asks the records under some paths; whether enough of them are right."""
    words = [session.skew, "--dialect", wanted.dialect, "--failures", "0", *options, *paths]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{session.shown(words)}: exit {done.returncode}")
    session.say()
    session.say(", ".join(path.name for path in paths) + ":")
    for line in done.stdout.splitlines():
        if not line.startswith(str(wanted.folder)):
            session.say(line)
    return done.returncode == 0


def main():
    wanted = arguments()
    whole, sets = corpus(wanted.folder)
    session = Session(f"sqllogictest-{wanted.dialect}", ("skew-sql", "sqllogictest"))
    enough = [ask(session, wanted, whole, []), ask(session, wanted, sets, ["--seconds", str(wanted.seconds)])]
    session.finish()
    if not all(enough):
        sys.exit("less than 99 % of the applicable records are right")


if __name__ == "__main__":
    main()
