#!/usr/bin/env python3
"""Client programs of the applications in examples/applications: seeded random sessions in place of those in the file.

Above each procedure of such a file stands a line that says how to call it:

    -- draw: 2 enroll(1..3, 1..2)        drawn twice as often as others, two numbers from ranges
    -- draw: publish(1..2, new)          `new` is a number that no other call of the program has
    -- draw: get_timeline(1..2, out)     `out` is a variable of the session

What a session calls depends on the seed and on the session's place only. So a program with fewer sessions, or with fewer transactions in
each, is the beginning of the one with more: the series of Fig. 15 of the DPOR paper is one program cut down. Assertions that speak of
the sessions of the file are left out, those about the final state stay.

    applications.py examples/applications/tpcc.sql --seed 3 --sessions 3 --transactions 3
    applications.py --folder programs            five programs of 3 × 3 per application, and the two series, as files
"""

import argparse
import random
import re
import sys
from pathlib import Path

APPLICATIONS = Path(__file__).resolve().parent.parent / "examples" / "applications"
SERIES = ("tpcc", "wikipedia")
DRAW = re.compile(r"^-- draw: (?:(\d+) )?(\w+)\((.*)\)$", re.MULTILINE)
ASSERTION = re.compile(r"^ASSERT .*?;$", re.MULTILINE | re.DOTALL)
OF_A_SESSION = re.compile(r"\b\w+\[\d+\]\.")


class Application:
    """A program file, taken apart: all before the first session, what can be called, and the assertions about the final state."""

    def __init__(self, path):
        self.name = path.stem
        text = path.read_text()
        start = re.search(r"^SESSION ", text, re.MULTILINE)
        if start is None:
            sys.exit(f"{path}: no SESSION")
        self.schema = text[: start.start()]
        self.calls = [
            (procedure, [word.strip() for word in arguments.split(",")])
            for often, procedure, arguments in DRAW.findall(self.schema)
            for _ in range(int(often or 1))
        ]
        if not self.calls:
            sys.exit(f"{path}: no line `-- draw: procedure(…)`")
        self.assertions = [
            assertion for assertion in ASSERTION.findall(text[start.start() :]) if not OF_A_SESSION.search(assertion)
        ]

    def client(self, seed, sessions, transactions):
        """The text of a client program."""
        lines = [f"SESSION s{session}: {self.session(seed, session, transactions)}" for session in range(1, sessions + 1)]
        return self.schema + "\n".join(lines) + "\n\n" + "\n".join(self.assertions) + "\n"

    def session(self, seed, session, transactions):
        chance = random.Random(f"{self.name}/{seed}/{session}")
        return " ".join(self.call(chance, 100 * session + number) for number in range(1, transactions + 1))

    def call(self, chance, place):
        procedure, kinds = chance.choice(self.calls)
        arguments = [argument(chance, kind, place, position) for position, kind in enumerate(kinds)]
        return f"CALL {procedure}({', '.join(arguments)});"


def argument(chance, kind, place, position):
    """One argument of the call at a place."""
    if kind == "out":
        return f"@v{place}_{position}"
    if kind == "new":
        return str(place)
    low, high = kind.split("..")
    return str(chance.randint(int(low), int(high)))


def programs(seeds=range(1, 6)):
    """Name and text of the programs of Fig. 14 (five of 3 × 3 per application), and of the two series of Fig. 15."""
    for path in sorted(APPLICATIONS.glob("*.sql")):
        application = Application(path)
        for seed in seeds:
            yield f"{application.name}-{seed}-3x3.sql", application.client(seed, 3, 3)
            if application.name in SERIES:
                for other in (1, 2, 4, 5):
                    yield f"{application.name}-{seed}-{other}x3.sql", application.client(seed, other, 3)
                    yield f"{application.name}-{seed}-3x{other}.sql", application.client(seed, 3, other)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="an application; without one, all of examples/applications")
    parser.add_argument("--folder", type=Path, help="write the programs of both figures into this folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--transactions", type=int, default=3, help="in each session")
    wanted = parser.parse_args()
    if (wanted.file is None) == (wanted.folder is None):
        parser.error("either a file or --folder")
    return wanted


def main():
    wanted = arguments()
    if wanted.file:
        sys.stdout.write(Application(wanted.file).client(wanted.seed, wanted.sessions, wanted.transactions))
        return
    wanted.folder.mkdir(parents=True, exist_ok=True)
    for name, text in programs():
        (wanted.folder / name).write_text(text)


if __name__ == "__main__":
    main()
