#!/usr/bin/env python3
"""PostgreSQL's own isolation specs on the mock and on a live PostgreSQL, permutation by permutation.

    benchmarks/isolation_specs.py FOLDER             # its `specs/*.spec`, as in src/test/isolation of PostgreSQL's source
    benchmarks/isolation_specs.py FOLDER deadlock    # those whose names contain a word
    benchmarks/isolation_specs.py FOLDER --show      # with what differs

`isolationtester` of Debian's postgresql-15 performs a spec on each of the two servers: which step waits, when it goes on, which rows it
answers, which error it gets. A permutation is *identical* when the two texts are, to the letter. Where a statement is refused on the mock
because it is not supported, or not understood, the permutation is not counted but listed by that cause. At serializable PostgreSQL refuses more
than it must: there a permutation is also well when one of the two refuses (40001) a transaction in it.
"""

import argparse
import difflib
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

from measure import Session
from postgresql import Postgres

TESTER = Path("/usr/lib/postgresql/15/lib/pgxs/src/test/isolation/isolationtester")
LEVELS = ["read committed", "repeatable read", "serializable"]
# How the mock says that it does not have something, or does not read it.
REFUSED = re.compile(r"ERROR:  ((?:.* (?:is|are) not supported.*)|(?:syntax error.*)|(?:function .* does not exist)|(?:type .* does not exist))")
# How the tester says that it goes no further.
NO_END = "the tester did not end"
STOPS = ("setup failed", "setup of session", "teardown failed", "Connection", "prepare of", NO_END)
REFUSAL = "ERROR:  could not serialize access"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--show", action="store_true", help="tell what differs, line by line")
    parser.add_argument("--outputs", type=Path, help="a folder for what was printed; live outputs that are there are not made again")
    parser.add_argument("--tally", action="store_true", help="only count what is there: no server is asked again")
    parser.add_argument("--timeout", type=int, default=20, help="seconds until a step that waits is given up")
    return parser.parse_args()


def perform(spec, environment, timeout):
    """What `isolationtester` prints, errors included."""
    environment = {**environment, "PGISOLATIONTIMEOUT": str(timeout), "PGDATESTYLE": "ISO, MDY", "PGTZ": "UTC"}
    target = "host={PGHOST} port={PGPORT} user={PGUSER} dbname={PGDATABASE}".format(**environment)
    try:
        done = subprocess.run([TESTER, target], stdin=spec.open(), env=environment, capture_output=True, text=True,
                              errors="replace", timeout=300, check=False)
        return done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode("utf-8", "replace") + f"\n{NO_END}\n"


def on_mock(session, spec, timeout):
    server = subprocess.Popen([session.skew, "serve", "--port", "0", "--seed", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = re.search(r"127\.0\.0\.1:(\d+)", next(line for line in server.stdout if "127.0.0.1:" in line)).group(1)
        environment = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGDATABASE": "postgres"}
        return perform(spec, environment, timeout)
    finally:
        server.terminate()
        server.wait()


def on_live(live, spec, timeout):
    def database(what):
        subprocess.run(["psql", "-qXc", f"{what} DATABASE spec"], env=live.environment(), check=True, capture_output=True)
    database("CREATE")
    try:
        return perform(spec, {**live.environment(), "PGDATABASE": "spec"}, timeout)
    finally:
        database("DROP")


def permutations(output):
    """The first line of each permutation and its text; and what stands before the first."""
    first, *rest = re.split(r"^starting permutation: ", output, flags=re.MULTILINE)
    return first, [(block.split("\n", 1)[0], block.strip()) for block in rest]


def texts(spec):
    """The text of each step, and all set-up."""
    source = re.sub(r"^\s*#.*$", "", spec.read_text(), flags=re.MULTILINE)
    steps = dict(re.findall(r'\bstep\s+"?([\w-]+)"?\s*\{([^}]*)\}', source))
    return steps, " ".join(re.findall(r"\bsetup\s*\{([^}]*)\}", source))


def level(names, spec):
    steps, setup = spec
    said = (setup + " ".join(steps.get(name, "") for name in re.findall(r"[\w-]+", names))).upper()
    if "SERIALIZABLE" in said:
        return "serializable"
    return "repeatable read" if "REPEATABLE READ" in said else "read committed"


def cause(text):
    found = REFUSED.search(text)
    return found.group(1) if found else None


class Tally:
    def __init__(self):
        self.identical, self.refused, self.alone, self.differ = Counter(), Counter(), Counter(), Counter()
        self.alarms = []
        self.causes, self.left_out, self.different, self.specs = Counter(), [], [], 0

    def compare(self, spec, mock, live):
        """The permutations that differ."""
        before, ours = permutations(mock)
        _, theirs = permutations(live)
        stopped = next((line for line in mock.splitlines() if line.startswith(STOPS)), "")
        known, found = texts(spec), []
        if not ours or stopped and not any(cause(text) is None for _, text in ours[:-1]):
            self.left_out.append((spec.stem, len(theirs), cause(mock) or stopped or before.strip().splitlines()[-1]))
            return found
        self.specs += 1
        for place, (names, text) in enumerate(theirs):
            at = level(names, known)
            # Where a session's set-up is refused, the tester ends.
            our = ours[place][1] if place < len(ours) and not (stopped and place == len(ours) - 1) else stopped
            why = "no end: what PostgreSQL refuses at once is open on the mock, and the teardown waits for it" if our == NO_END else cause(our)
            if why is not None and cause(text) is None:
                self.causes[why] += 1
            elif our == text:
                self.identical[at] += 1
            elif at == "serializable" and REFUSAL in text:
                self.refused[at] += 1
            elif at == "serializable" and REFUSAL in our:
                self.alone[at] += 1
                self.alarms.append((spec.stem, names))
            else:
                self.differ[at] += 1
                found.append((names, text, our))
        self.different.extend((spec.stem, names) for names, _, _ in found)
        return found


def show(session, spec, found):
    for names, live, mock in found:
        session.note(f"--- {spec.stem}: {names}")
        for line in difflib.unified_diff(live.splitlines(), mock.splitlines(), "PostgreSQL", "mock", lineterm="", n=2):
            session.note(line)


def report(session, tally):
    rows = []
    for at in LEVELS:
        counts = [tally.identical[at], tally.refused[at], tally.alone[at], tally.differ[at]]
        whole = sum(counts)
        share = f"{100 * (whole - counts[-1]) / whole:.1f} %" if whole else "-"
        rows.append([at, str(whole), *map(str, counts), share])
    session.table(["level", "permutations", "identical", "PostgreSQL refuses", "the mock alone", "differ", "well"], rows)
    for name, names in tally.alarms:
        session.say(f"refused by the mock alone: {name}: {names}")
    for name, names in tally.different:
        session.say(f"differs: {name}: {names}")
    session.say()
    session.say(f"{sum(tally.causes.values())} permutations of specs that ran have a statement that is refused, by cause:")
    for why, count in tally.causes.most_common():
        session.say(f"{count:5}  {why}")
    session.say()
    session.say(f"{len(tally.left_out)} specs were not run, since the mock refuses their set-up:")
    for name, count, why in tally.left_out:
        session.say(f"{count:5}  {name}: {why}")


def main():
    wanted = arguments()
    specs = sorted(wanted.folder.glob("specs/*.spec"))
    specs = [spec for spec in specs if not wanted.words or any(word in spec.stem for word in wanted.words)]
    session, tally = Session("isolation_specs"), Tally()
    outputs = wanted.outputs or session.folder
    outputs.mkdir(parents=True, exist_ok=True)
    with Postgres("max_prepared_transactions=10", "autovacuum=off") as live:
        for spec in specs:
            mine, theirs = outputs / f"{spec.stem}.mock", outputs / f"{spec.stem}.live"
            if not (wanted.tally and mine.exists()):
                mine.write_text(on_mock(session, spec, wanted.timeout))
            if not theirs.exists():
                theirs.write_text(on_live(live, spec, 10 * wanted.timeout))
            found = tally.compare(spec, mine.read_text(), theirs.read_text())
            session.note(f"{spec.stem}: {len(found)} differ")
            if wanted.show:
                show(session, spec, found)
    session.say(f"specs: {len(specs)} there, {tally.specs} run")
    report(session, tally)
    session.finish(keeps=not wanted.words)


if __name__ == "__main__":
    main()
