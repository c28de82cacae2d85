#!/usr/bin/env python3
"""TPC-C on real servers at read committed: in how many runs each of its twelve conditions fails (MonkeyDB, OOPSLA 2021, section 9).

    benchmarks/servers.py            all of it
    benchmarks/servers.py --quick    a few runs of each, in two minutes

The paper ran MySQL with 2, 3 and up to 10 sessions for 10 seconds, which were 450 and 300 transactions per session, and a Galera cluster
with one session per node for 10 seconds at 20 transactions per second, with partitions. Here the same numbers of transactions are
run as fast as the server does them. A campaign has one server or cluster, started by `skew run --up`, and fresh tables for
every run. Every history is also checked: it has to be read committed, whatever was cut.
"""

import argparse
import json
import subprocess
import sys

from measure import Session

CONDITIONS = [f"A{number}" for number in range(1, 13)]
PAPER = {
    "mariadb": "the paper, MySQL, up to 10 sessions: A10 and A12 fail, no other",
    "galera": "the paper, Galera, up to 10 nodes, with and without faults: six of the twelve fail in some run of 100",
}

# Kind, sessions, transactions per session, faults.
CASES = [
    ("mariadb", 2, 450, []),
    ("mariadb", 3, 300, []),
    ("mariadb", 10, 90, []),
    ("galera", 3, 67, []),
    ("galera", 3, 67, ["--fault", "partition", "--heal", "3s"]),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="how many runs on a cluster without faults")
    parser.add_argument("--fault-runs", type=int, default=100, help="how many runs with partitions")
    parser.add_argument("--single-runs", type=int, default=100, help="how many runs on a single server")
    parser.add_argument("--quick", action="store_true", help="5 runs of each, 3 with partitions, and fewer cases")
    wanted = parser.parse_args()
    if wanted.quick:
        wanted.runs, wanted.fault_runs, wanted.single_runs = 5, 3, 5
    return wanted


def campaign(session, kind, sessions, transactions, faults, runs):
    words = [session.skew, "run", "tpcc", "--up", kind, "--level", "read-committed", "--sessions", sessions, "--transactions",
             transactions, *faults, "--runs", runs, "--check", "read-committed", "--format", "json"]
    session.say(f"$ {session.shown(words)}")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{session.shown(words)}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)


def share(assertion):
    """In how many of a hundred runs it fails; nothing where it never does."""
    failures, runs = assertion["failures"], assertion["runs"]
    return f"{100 * failures / runs:.0f} %" if failures else "-"


def row(kind, sessions, faults, result):
    found = {assertion["name"].split()[0]: assertion for assertion in result["assertions"]}
    name = f"{kind}, {sessions} sessions" + (", partitions" if faults else "")
    failing = sum(1 for condition in CONDITIONS if found[condition]["failures"])
    # Of the papers' level, which --check asks for; what is broken is the server's own.
    broken = f"{result['violating']} of {result['runs']}"
    return [name, str(result["runs"]), *(share(found[condition]) for condition in CONDITIONS), str(failing), broken]


def main():
    wanted = arguments()
    session = Session("servers")
    session.say()
    cases = [case for case in CASES if not wanted.quick or case[1] == 3]
    rows, counts = [], []
    for kind, sessions, transactions, faults in cases:
        runs = wanted.fault_runs if faults else wanted.runs if kind == "galera" else wanted.single_runs
        result = campaign(session, kind, sessions, transactions, faults, runs)
        rows.append(row(kind, sessions, faults, result))
        told = [f"{result['committed']} committed", f"{result['unknown']} with an unknown outcome"]
        told += [f"{count} {name}" for name, count in sorted(result["aborted"].items())]
        told += [f"fault {name} {count} times" for name, count in sorted(result["faults"].items())]
        counts.append(f"  {rows[-1][0]}: {', '.join(told)}; {result['seconds'] / result['runs']:.1f} s per run")
    session.say()
    session.table(["runs in which it fails", "runs", *CONDITIONS, "of 12", "not read committed"], rows)
    for line in [*PAPER.values(), "", *counts]:
        session.say(line)
    # A few runs say too little to be kept.
    session.finish(keeps=not wanted.quick)


if __name__ == "__main__":
    main()
