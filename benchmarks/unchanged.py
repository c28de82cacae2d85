#!/usr/bin/env python3
"""Two binaries that should be the same to their users: what they print and write, byte by byte, and the processor time they take.

    benchmarks/unchanged.py path/to/the/binary/before            # what they print and write
    benchmarks/unchanged.py path/to/the/binary/before --time     # how long they take

The commands are those of the README, the book and the archived tables whose output follows from seed and input: help, checks, conversions,
generated histories, plays and explorations of all example programs, kept counterexamples and certificates. Each runs in a folder of its own
with the same files; what it printed, its exit code and every file it left are compared. Then some of them run on larger inputs in nine
alternating pairs: a ratio is the processor time of a binary through that of the one before, and the middle of the nine counts.
"""

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
from pathlib import Path

from measure import ROOT, Session, measure

PAIRS = 9
LEVELS = ["rc", "ra", "cc", "pc", "psi", "si", "ser"]
COMMANDS = ["check", "convert", "explore", "generate", "play", "run", "serve", "up", "view"]
WRITTEN = ["native", "notation", "dbcop", "plume", "elle", "isopredict"]
GENERATED = ["native", "plume", "dbcop"]
ANOMALIES = ["lost-update", "write-skew", "long-fork", "fractured-read", "causality-violation"]
MISTAKES = [
    "check", "check nothing.jsonl", "check --level repeatable-read lost-update.jsonl", "check --from nothing lost-update.jsonl",
    "convert lost-update.jsonl --to nothing x", "generate --level strict-serializable --transactions 3",
    "play withdraw.sql --level strong-snapshot", "play withdraw.sql --level declared", "play lost-update.jsonl",
    "explore withdraw.sql --level nothing", "explore withdraw.sql --replay 1:9", "run nothing", "run registers --level sser",
    "serve --level sser -- true", "view lost-update.jsonl", "nothing",
]


def programs():
    """All programs in SQL, by their places below examples/; the large applications are for timing only."""
    files = [*(ROOT / "examples").glob("*.sql"), *(ROOT / "examples" / "bugs").glob("*/*.sql")]
    return sorted(str(file.relative_to(ROOT / "examples")) for file in files)


def compared():
    """The commands whose output is compared, as words behind the name of the binary; a shell runs them."""
    yield "skew --help"
    yield "skew --version"
    yield from (f"skew {command} --help" for command in COMMANDS)
    yield from (f"skew {mistake}" for mistake in MISTAKES)
    histories = sorted(file.name for file in (ROOT / "examples").glob("*.jsonl"))
    yield "skew check " + " ".join(histories)
    yield "skew check --format json --save findings --certificate proofs.json " + " ".join(histories)
    for history in histories:
        yield (f"skew check -q --certificate c.json {history}; skew check --verify c.json {history}; "
               f"skew check -q --save found {history}; for file in found/*; do skew view $file; skew view --format dot $file; "
               "skew view --format svg $file; skew view --format json $file; done")
        yield from (f"skew convert {history} out --to {name}" for name in WRITTEN)
    for seed, level in enumerate(LEVELS, 1):
        yield from (f"skew generate --level {level} --transactions 2000 --seed {seed} --format {name} -o out" for name in GENERATED)
        yield f"skew generate --level {level} --transactions 2000 --keys 40 --seed {seed} -o h; skew check h; skew check --format json h"
        yield from (f"skew generate --level {level} --transactions 300 --anomaly {name} --seed {seed} -o h; skew check h; "
                    "skew check --format json --save kept h" for name in ANOMALIES)
    for program in programs():
        for level in LEVELS:
            yield f"skew play {program} --level {level} --runs 30 --seed 3 --record recorded --save kept"
            yield f"skew play {program} --level {level} --runs 10 --updates plain --granularity cell --format json"
        yield f"skew explore {program} --save kept"
        yield f"skew explore {program} --level rc,cc,si,ser --updates plain --format json --list"


def run(binary, command, folder):
    """Runs a line in a fresh copy of the examples: what it printed, its exit code, and the digests of all files it left."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "bin").mkdir()
    (folder / "bin" / "skew").symlink_to(binary)
    environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}", NO_COLOR="1")
    done = subprocess.run(["sh", "-c", command], cwd=folder / "examples", env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=600)
    files = sorted(path for path in (folder / "examples").rglob("*") if path.is_file())
    left = {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return done.returncode, done.stdout, done.stderr, left


def difference(before, after):
    """What differs between two runs, in a few words; nothing if they are equal."""
    for name, old, new in zip(("exit code", "standard output", "standard error", "files"), before, after):
        if old != new:
            if name == "files":
                names = sorted(file for file in old.keys() | new.keys() if old.get(file) != new.get(file))
                return f"{name}: {', '.join(names[:5])}"
            return f"{name}: {str(old)[:300]} | {str(new)[:300]}"
    return None


def compare(session, before):
    """Compares all commands, and says which differ."""
    commands = list(compared())
    differing = 0
    for number, command in enumerate(commands, 1):
        if number % 50 == 0:
            session.note(f"{number} of {len(commands)} commands")
        runs = [run(binary, command, session.folder / "same") for binary in (before, session.skew)]
        found = difference(*runs)
        if found:
            differing += 1
            session.say(f"differs: $ {command}\n  {found}")
    session.say(f"{len(commands)} commands, {differing} differ")
    session.say()
    return differing


def timed(session):
    """The commands that are timed: what they show, and their words behind the binary."""
    snapshot = session.generate("snapshot.jsonl", ["--level", "si", "--transactions", 150000, "--keys", 150000, "--seed", 7])
    causal = session.generate("causal.jsonl", ["--level", "cc", "--transactions", 400000, "--keys", 80000, "--seed", 7])
    examples = ROOT / "examples"
    out = session.folder / "out"
    return [
        ("check, all levels", ["check", "-q", snapshot]),
        ("check, causal", ["check", "-q", "--level", "causal", causal]),
        ("check, proofs", ["check", "-q", "--level", "si", "--certificate", out, snapshot]),
        ("convert to native", ["convert", causal, out, "--to", "native"]),
        ("generate", ["generate", "--level", "si", "--transactions", 1000000, "--seed", 3, "-o", out]),
        ("play", ["play", examples / "withdraw.sql", "--level", "cc", "--runs", 15000]),
        ("play, snapshot", ["play", examples / "bugs/03-voucher-limit/buggy.sql", "--level", "si", "--runs", 15000]),
        ("explore", ["explore", examples / "applications/tpcc.sql", "--level", "cc", "--budget", 20000]),
        ("explore, plain", ["explore", examples / "applications/courseware.sql", "--level", "rc", "--updates", "plain"]),
        ("run on the mock", ["run", "smallbank", "--transactions", 2000, "--sessions", 2]),
    ]


def race(session, before, pairs):
    """Times both binaries in alternating pairs."""
    rows = []
    cases = timed(session)
    for name, words in cases:
        session.note(f"timing {name}")
        ratios, seconds = [], []
        for pair in range(pairs):
            order = [before, session.skew] if pair % 2 == 0 else [session.skew, before]
            times = {binary: measure([binary, *words], 600).processor for binary in order}
            ratios.append(times[session.skew] / times[before])
            seconds.append(times[before])
        low, high = min(ratios), max(ratios)
        rows.append([name, f"{statistics.median(seconds):.2f} s", f"{statistics.median(ratios):.3f}", f"{low:.2f} to {high:.2f}"])
    for name, words in cases:
        session.say(f"$ skew {session.shown(words)}   # {name}")
    session.table(["command", "before", "ratio", "ratios of pairs"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the binary before the change")
    parser.add_argument("--time", action="store_true", help="time them instead of comparing what they print and write")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="how many pairs are timed")
    arguments = parser.parse_args()
    before = arguments.before.resolve()
    differing = 0
    # Times are taken on a quiet machine, so the two are runs of their own.
    if arguments.time:
        session = Session("unchanged-times")
        race(session, before, arguments.pairs)
        session.finish(keeps=arguments.pairs >= PAIRS)
    else:
        session = Session("unchanged")
        differing = compare(session, before)
        session.finish()
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
