#!/usr/bin/env python3
"""What recording costs, and a large run that is recorded and checked in one go.

    benchmarks/recording.py [--transactions 100000] [--rounds 5] [--quick]

Registers on a PostgreSQL and a MariaDB that this script starts with `skew up`. First the throughput with `--record` as a share of that of
the same run without, the same seed, in turn, the median over the rounds. Then one run of so many transactions with `--check all`.
"""

import argparse
import json
import statistics
import subprocess

from measure import Session

SESSIONS = 8


def server(session, kind):
    """Starts a throw-away server; the process and its URL."""
    process = subprocess.Popen([session.skew, "up", kind], stdout=subprocess.PIPE, text=True)
    url = next(word for line in process.stdout for word in line.split() if "://" in word)
    return process, url


def run(session, url, transactions, more):
    command = [
        session.skew, "run", "registers", "--db", url, "--drop", "--format", "json", "--level", "snapshot",
        "--sessions", SESSIONS, "--transactions", transactions // SESSIONS, "--keys", 10_000, *more,
    ]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def cost(session, kind, url, transactions, rounds):
    ratios = []
    for number in range(rounds):
        session.note(f"{kind}: round {number + 1} of {rounds}")
        file = session.folder / "recorded.jsonl"
        # In turn which one comes first: a server gets slower or faster with its age.
        measured = {}
        for recorded in (number % 2 == 0, number % 2 == 1):
            more = ["--record", file] if recorded else []
            measured[recorded] = run(session, url, transactions, more)["per_second"]
        session.drop(file)
        ratios.append(measured[True] / measured[False])
    return [kind, f"{transactions:,}", f"{statistics.median(ratios):.2f}", " ".join(f"{ratio:.2f}" for ratio in ratios)]


def whole(session, kind, url, transactions):
    session.note(f"{kind}: {transactions:,} transactions")
    file = session.folder / "checked.jsonl"
    ran = run(session, url, transactions, ["--check", "all", "--record", file])
    with open(file, encoding="utf-8") as lines:
        recorded = sum(1 for _ in lines) - 1
    session.drop(file)
    kept = [verdict["level"] for verdict in ran["history"]["verdicts"] if verdict["verdict"] == "holds"]
    broken = [verdict["level"] for verdict in ran["history"]["verdicts"] if verdict["verdict"] != "holds"]
    return [kind, f"{ran['committed']:,}", f"{recorded:,}", " ".join(kept), " ".join(broken) or "none"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a twentieth of it, within two minutes")
    arguments = parser.parse_args()
    transactions = arguments.transactions // 20 if arguments.quick else arguments.transactions
    session = Session("recording")
    servers = {kind: server(session, kind) for kind in ("postgres", "mariadb")}
    try:
        session.say("\nthroughput with --record as a share of that without: the median, and every round")
        rows = [cost(session, kind, url, transactions // 4, arguments.rounds) for kind, (_, url) in servers.items()]
        session.table(["server", "transactions", "share", "rounds"], rows)
        session.say("recorded and checked in one go: --level snapshot --check all")
        rows = [whole(session, kind, url, transactions) for kind, (_, url) in servers.items()]
        session.table(["server", "committed", "recorded", "kept", "not kept"], rows)
    finally:
        for process, _ in servers.values():
            process.terminate()
            process.wait()
    session.finish()


if __name__ == "__main__":
    main()
