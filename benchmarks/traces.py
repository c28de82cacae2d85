"""Recorded histories as IsoPredict (PLDI 2024) sees them: sessions of numbered reads and writes, and who wrote what was read.

A native history holds more than that; this reads what the recordings of workloads have and leaves out what the paper's model has not:

    {"session":"s1","ops":[{"r":"x","v":0},{"w":"x","v":5},{"r":"x","v":5},{"scan":"y/","reads":[]}]}

    position   0                1                             2, 3, ...
    event      read x from t0   write x      (own: none)      a read of every key below y/

Transactions that did not commit are ignored, and so are those without events; what its own program aborted can be kept for its reads, which are
part of the run for `skew predict`. t0 is the initial state and writes every key. A second write
of a key replaces the first but takes a position of its own. Where a read has no `from` and its value has several writers, the last of
them before it in the file is taken, which is right for runs of one transaction after the other.
"""

import json
from dataclasses import dataclass, field


@dataclass
class Event:
    """A read from another transaction, or a write that is the last of its key in its transaction."""

    key: str
    transaction: int
    position: int
    observed: int = None  # of a read: the transaction that it read from


@dataclass
class Transaction:
    """`first` and `length` say which positions of its session are its own."""

    name: str
    session: int
    first: int = 0
    length: int = 0
    reads: list = field(default_factory=list)
    writes: dict = field(default_factory=dict)  # by key


class Trace:
    """Transaction 0 is the initial state, alone in session 0."""

    def __init__(self, path, keeps_aborted=False):
        lines = [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]
        header = lines.pop(0) if lines and "skew" in lines[0] else {}
        self.initial = header.get("initial", {})
        named = [line for line in with_names(lines) if is_committed(line) or (keeps_aborted and line.get("by") == "program")]
        self.keys = sorted(keys_of(named) | set(self.initial), key=ascending)
        self.transactions = [Transaction("t0", 0)]
        self.sessions = [[0]]
        self.numbers = {}  # of sessions by name, of transactions by ("id", name)
        self.versions = {}  # (key, value) to the transactions that left it, in the order of the file
        self.accesses = [0, 0]  # reads and writes of the store, own and repeated ones too
        self.fill(named)
        first = self.transactions[0]
        for position, key in enumerate(self.keys):
            first.writes[key] = Event(key, 0, position)
        first.length = len(self.keys)

    def fill(self, lines):
        """Writes first, so that a read may come before its writer in the file."""
        kept = []
        for line in lines:
            number = len(self.transactions)
            last = {event["w"]: event.get("v") for event in line["ops"] if "w" in event}
            kept.append((number, line))
            self.transactions.append(Transaction(line["id"], self.session_of(line)))
            self.numbers["id", line["id"]] = number
            for key, value in last.items() if is_committed(line) else []:
                self.versions.setdefault((key, json.dumps(value)), []).append(number)
        lengths = [0] * len(self.sessions)
        for number, line in kept:
            transaction = self.transactions[number]
            transaction.first = lengths[transaction.session]
            self.events(number, transaction, line["ops"])
            if not is_committed(line):
                transaction.writes = {}
            lengths[transaction.session] += transaction.length
            if transaction.length:
                self.sessions[transaction.session].append(number)

    def session_of(self, line):
        name = line["session"]
        if name not in self.numbers:
            self.numbers[name] = len(self.sessions)
            self.sessions.append([])
        return self.numbers[name]

    def events(self, number, transaction, operations):
        for operation in operations:
            if "w" in operation:
                key = operation["w"]
                transaction.writes[key] = Event(key, number, transaction.first + transaction.length)
                transaction.length += 1
                self.accesses[1] += 1
                continue
            for read in reads_of(operation, self.keys):
                self.accesses[0] += 1
                if read["k"] in transaction.writes:
                    continue
                position = transaction.first + transaction.length
                transaction.reads.append(Event(read["k"], number, position, self.writer(number, read)))
                transaction.length += 1

    def writer(self, reader, read):
        """Who wrote what was read: by name, by value, or the initial state."""
        if "from" in read:
            return 0 if read["from"] is None else self.numbers["id", read["from"]]
        value = read.get("v")
        found = [writer for writer in self.versions.get((read["k"], json.dumps(value)), []) if writer != reader]
        earlier = [writer for writer in found if writer < reader]
        if earlier:
            return earlier[-1]
        if value == self.initial.get(read["k"]):
            return 0
        if found:
            return found[0]
        raise ValueError(f"{self.transactions[reader].name} read {read['k']} = {value}, which nobody wrote")

    def present(self):
        """The numbers of the transactions that have events, the initial state first."""
        return [number for number, transaction in enumerate(self.transactions) if number == 0 or transaction.length]

    def counts(self):
        """Reads, writes, transactions, and those of them that only read; without the initial state."""
        rest = [self.transactions[number] for number in self.present()[1:]]
        return [sum(len(one.reads) for one in rest), sum(len(one.writes) for one in rest), len(rest), sum(not one.writes for one in rest)]


def is_committed(line):
    return line.get("outcome", "committed") == "committed"


def with_names(lines):
    """Every transaction with its id, which is its session and place where none is given."""
    places = {}
    for line in lines:
        if "session" not in line:
            continue
        place = places.get(line["session"], 0)
        places[line["session"]] = place + 1
        yield {"id": f"{line['session']}#{place}", **line}


def keys_of(lines):
    keys = set()
    for line in lines:
        for operation in line["ops"]:
            if "a" in operation:
                raise ValueError("appends to lists are not part of the paper's model")
            keys.update(operation[kind] for kind in ("r", "w") if kind in operation)
            keys.update(read["k"] for read in operation.get("reads", []))
    return keys


def reads_of(operation, keys):
    """A read, or a scan as the reads of all keys that it covers."""
    if "r" in operation:
        return [{**operation, "k": operation["r"]}]
    if "scan" not in operation:
        return []
    listed = {read["k"]: read for read in operation["reads"]}
    rest = set(operation.get("except", []))
    return [listed.get(key, {"k": key, "v": None}) for key in keys if key in listed or (covers(operation, key) and key not in rest)]


def covers(scan, key):
    """Whether a key is in the range of a scan; `lo` and `hi` are about the part of it after the prefix, up to the next slash."""
    if not key.startswith(scan["scan"]) or "#" in key:
        return False
    part = key[len(scan["scan"]):].split("/")[0]
    low, high = (None if scan.get(end) is None else str(scan[end]) for end in ("lo", "hi"))
    if is_integer(low) and is_integer(high):
        return is_integer(part) and int(low) <= int(part) <= int(high)
    return (low is None or part >= low) and (high is None or part <= high)


def is_integer(text):
    return text is not None and text.removeprefix("-").isdigit()


def ascending(key):
    """Scans read part by part, integers by size and before texts."""
    return [(0, int(part), "") if is_integer(part) else (1, 0, part) for part in key.split("/")]
