#!/usr/bin/env python3
"""What the levels of the engines cost beside snapshot, on histories that say what their statements asked for.

The histories are made here: a table of rows, sessions that run SELECT, SELECT … FOR UPDATE, UPDATE, INSERT and DELETE, row locks that are kept to the
commit. A transaction does all its statements at once and commits after others have come in between, so that what it reads is right at read
committed, at repeatable read and at snapshot; `serial` histories commit at once, and are right at serializable, too.
"""

import argparse
import json
import random
import statistics

from measure import Session, count, measure

ENGINES = {
    "postgres": ["postgres:read-committed", "postgres:repeatable-read", "postgres:serializable"],
    "mysql": ["mysql:read-committed", "mysql:repeatable-read", "mysql:serializable"],
}
SHAPES = {
    "wide": {"keys": 1.0, "hot": 0.0},
    "hot keys": {"keys": 0.2, "hot": 0.25},
}
HOT = 10


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=5, help="alternating runs of which the median counts")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per process")
    parser.add_argument("--name", default="engine_levels", help="of the file under results/")
    return parser.parse_args()


class Server:
    """One server with one table: what is committed, who has locked what, and who has yet to commit."""

    def __init__(self, chance, keys):
        self.chance = chance
        self.rows = {key: 0 for key in range(keys)}  # the committed version; None is no row
        self.absent = []
        self.locked = {}
        self.waiting = {}  # per session what it has yet to commit
        self.version = 0

    def pick(self, hot):
        if self.chance.random() < hot:
            return self.chance.randrange(HOT)
        return self.chance.randrange(len(self.rows))

    def transaction(self, session, hot, serial):
        """The events of one transaction, in the order of its statements."""
        events, written, locks = [], {}, []
        for statement in range(1, self.chance.randint(2, 5)):
            kind = self.chance.choices(["select", "update", "for-update", "delete", "insert"], [50, 36, 6, 4, 4])[0]
            key = self.pick(hot)
            # Rows that come and go are not the hot ones: equal reads of nothing would be anybody's.
            if key < HOT and kind in ("delete", "insert"):
                kind = "update"
            if kind != "select" and self.locked.get(key, session) != session:
                kind = "select"
            events += self.statement(statement, kind, key, session, written, locks)
        self.waiting[session] = (written, locks)
        if serial:
            self.commit(session)
        return events

    def statement(self, number, kind, key, session, written, locks):
        asked = {"s": number, "kind": kind}
        name = f"kv/{key}"
        found = written.get(key, self.rows[key])
        has_row = found is not None
        read = {"r": name, "v": found, **asked}
        if kind == "select":
            return [read]
        if kind == "insert" and has_row or kind != "insert" and not has_row:
            return [{**read, "kind": "select"}]
        self.locked[key] = session
        locks.append(key)
        if kind == "for-update":
            return [read]
        self.version += 1
        written[key] = None if kind == "delete" else self.version
        return [read, {"w": name, "v": written[key], **asked}]

    def commit(self, session):
        written, locks = self.waiting.pop(session, ({}, []))
        self.rows.update(written)
        for key in locks:
            self.locked.pop(key, None)


def make(path, engine, shape, serial, wanted):
    """Writes a history, once per folder."""
    if path.exists():
        return
    chance = random.Random(f"{engine} {shape} {serial}")
    keys = max(20, int(wanted.transactions * SHAPES[shape]["keys"]))
    server = Server(chance, keys)
    sessions = [[] for _ in range(wanted.sessions)]
    for _ in range(wanted.transactions):
        session = chance.randrange(wanted.sessions)
        server.commit(session)
        sessions[session].append(server.transaction(session, SHAPES[shape]["hot"], serial))
    with path.open("w") as out:
        initial = {f"kv/{key}": 0 for key in range(keys)}
        out.write(json.dumps({"skew": 1, "engine": engine, "initial": initial}) + "\n")
        for number, transactions in enumerate(sessions):
            for events in transactions:
                out.write(json.dumps({"session": f"s{number}", "ops": events}, separators=(",", ":")) + "\n")


def compare(session, path, levels, wanted):
    """Processor time of snapshot and of each level, in turns; a row per level."""
    times, verdicts = {level: [] for level in ["snapshot", *levels]}, {}
    for _ in range(wanted.repeat):
        for level in times:
            run = measure([session.skew, "check", "--level", level, path], wanted.timeout)
            times[level].append(run.processor)
            verdicts[level] = run.verdict
            session.note(f"  {level}: {run.verdict}, {run.processor:.2f} s")
    median = {level: statistics.median(all_times) for level, all_times in times.items()}
    ratio = lambda level: f"{median[level] / median['snapshot']:.2f}"
    session.table(
        ["level", "verdict", "processor time", "beside snapshot"],
        [[level, verdicts[level], f"{median[level]:.2f} s", ratio(level)] for level in times],
    )


def main():
    wanted = arguments()
    session = Session(wanted.name)
    session.say(f"{count(wanted.transactions)} transactions of {wanted.sessions} sessions; medians of {wanted.repeat} alternating runs")
    session.say()
    for engine, levels in ENGINES.items():
        for shape in SHAPES:
            for serial in [False, True]:
                kind = "serial" if serial else "overlapping"
                path = session.folder / f"{engine}-{shape.replace(' ', '-')}-{kind}-{wanted.transactions}.jsonl"
                make(path, engine, shape, serial, wanted)
                session.say(f"{engine}, {shape}, {kind}")
                compare(session, path, levels if serial else levels[:2], wanted)
                session.drop(path)
    session.finish()


if __name__ == "__main__":
    main()
