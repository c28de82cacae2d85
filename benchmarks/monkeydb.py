#!/usr/bin/env python3
"""The evaluations of MonkeyDB (OOPSLA 2021, §7 and §8) and the comparison of IsoPredict (PLDI 2024, §7.3), made again with `skew run`.

Every table is made twice: with the semantics of the papers, `--updates plain --granularity cell`, and with the default of the mock,
where updates lock. Tables are Markdown, so that they can stand in the book as they are.

    monkeydb.py            everything
    monkeydb.py --quick    a tenth of the runs
"""

import argparse
import json
import math
import os
import subprocess
import sys

from measure import Session

SEMANTICS = {"papers": ["--updates", "plain", "--granularity", "cell"], "default": []}
LEVELS = {"read-committed": "rc", "causal": "causal"}
# Sessions and transactions of each: those of the paper (§9), and longer ones.
SIZES = [(2, 6), (3, 4), (2, 20), (3, 20)]
MICRO = [
    ("treiber-stack", "element popped once", "stack: element popped twice", 3.7),
    ("courseware", "course capacity", "courseware: course overflow", 10.6),
    ("courseware", "removed course", "courseware: removed course", 57.5),
    ("shopping-cart", "deleted item stays deleted", "shopping: item reappears", 20.2),
    ("twitter", "no missing tweets", "Twitter: missing tweets", 6.3),
]
OTHERS = ["smallbank", "voter", "wikipedia"]
# Fig. 15 by level and sessions, in percent.
MEANS = {("causal", 2): 26.7, ("causal", 3): 37.2, ("read-committed", 2): 56.1, ("read-committed", 3): 65.4}
# IsoPredict's Tables 6 and 7: MonkeyDB's runs in which an assertion fails, and that are not serializable, with 4 and with 8 transactions.
RATES = {
    ("smallbank", "causal"): ((70, 98), (84, 100)),
    ("voter", "causal"): ((70, 80), (56, 80)),
    ("tpcc", "causal"): ((98, 100), (100, 100)),
    ("wikipedia", "causal"): ((0, 11), (0, 19)),
    ("smallbank", "read-committed"): ((100, 100), (100, 100)),
    ("voter", "read-committed"): ((89, 100), (95, 100)),
    ("tpcc", "read-committed"): ((100, 100), (100, 100)),
    ("wikipedia", "read-committed"): ((54, 54), (89, 89)),
}
# Its Table 3: reads, writes, committed transactions, read-only ones; with 4 and with 8 transactions.
TRACES = {
    "smallbank": ((669.7, 14.7, 11.0, 3.5), (1271.3, 30.5, 20.3, 6.6)),
    "voter": ((763.0, 6.0, 12.0, 11.0), (919.0, 6.0, 24.0, 23.0)),
    "tpcc": ((3297.3, 763.0, 11.9, 0.9), (7025.6, 1502.4, 23.8, 1.7)),
    "wikipedia": ((1067.7, 55.1, 9.9, 8.8), (2677.1, 111.1, 22.8, 20.6)),
}
STRICT = ["tpcc", *OTHERS, "rubis", "twitter", "shopping-cart", "courseware", "treiber-stack"]


class Campaigns:
    """Runs `skew run`, each campaign once."""

    def __init__(self, session, jobs):
        self.session = session
        self.jobs = jobs
        self.done = {}

    def run(self, workload, level, semantics, runs, size=None, record=None):
        """What a campaign found, as JSON."""
        key = (workload, level, semantics, runs, size)
        if key in self.done and record is None:
            return self.done[key]
        words = [self.session.skew, "run", workload, "--level", level, *SEMANTICS[semantics]]
        if size is not None:
            words += ["--sessions", size[0], "--transactions", size[1]]
        words += ["--runs", runs, "--jobs", self.jobs, "--format", "json"]
        if record is not None:
            words += ["--record", record]
        self.session.note("  " + self.session.shown(words))
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{self.session.shown(words)}\n{done.stderr}")
        found = json.loads(done.stdout)
        if found["broken"]:
            sys.exit(f"{self.session.shown(words)}\nthe level is broken with seeds {found['broken']}")
        self.done[key] = found
        return found


def markdown(session, title, header, rows):
    session.say(f"**{title}**")
    session.say()
    session.say("| " + " | ".join(header) + " |")
    session.say("|" + "---|" * len(header))
    for row in rows:
        session.say("| " + " | ".join(row) + " |")
    session.say()


def percent(part, whole):
    return f"{100 * part / whole:.0f}" if whole else "–"


def table_1(session, campaigns, runs):
    rows = []
    for workload, assertion, title, paper in MICRO:
        row = [title, str(paper)]
        for semantics in SEMANTICS:
            found = campaigns.run(workload, "causal", semantics, runs)
            failures = next(one["failures"] for one in found["assertions"] if one["name"] == assertion)
            mean = found["runs"] / failures if failures else None
            row += [f"{mean:.1f}" if mean else f"none in {runs}", f"{mean / paper:.1f}" if mean else "–"]
        rows.append(row)
    header = ["assertion", "paper", "papers' semantics", "ratio", "default", "ratio"]
    markdown(session, f"Table 1: iterations until an assertion fails at causal, 3 sessions × 3 operations, {runs} runs", header, rows)


def shares(found):
    """Assertion and percent of the runs in which it was asked and failed."""
    return {one["name"].split()[0]: 100 * one["failures"] / one["runs"] for one in found["assertions"]}


def figure_14(session, campaigns, runs):
    for semantics in SEMANTICS:
        header, columns = ["percent of runs"], []
        for level, short in LEVELS.items():
            for size in SIZES:
                header.append(f"{short} {size[0]} × {size[1]}")
                columns.append(shares(campaigns.run("tpcc", level, semantics, runs, size)))
        names = [f"A{number}" for number in range(1, 13)]
        rows = [[name, *(f"{column[name]:.0f}" for column in columns)] for name in names]
        rows.append(["over 60", *(str(sum(column[name] > 60 for name in names)) for column in columns)])
        rows.append(["fail somewhere", *(str(sum(column[name] > 0 for name in names)) for column in columns)])
        title = f"Fig. 14: TPC-C, runs of {runs} in which an assertion fails, {semantics} semantics"
        markdown(session, title.replace("papers semantics", "papers' semantics"), header, rows)


def figure_15(session, campaigns, runs):
    for semantics in SEMANTICS:
        header, columns, means = ["percent of runs"], [], ["geometric mean"]
        papers = ["paper's"]
        for level, short in LEVELS.items():
            for size in SIZES:
                header.append(f"{short} {size[0]} × {size[1]}")
                column = {}
                for workload in OTHERS:
                    column |= shares(campaigns.run(workload, level, semantics, runs, size))
                columns.append(column)
                values = list(column.values())
                mean = math.exp(sum(map(math.log, values)) / len(values)) if all(values) else 0
                means.append(f"{mean:.1f}")
                papers.append(str(MEANS[level, size[0]]))
        names = [f"A{number}" for number in range(13, 18)]
        rows = [[name, *(f"{column[name]:.0f}" for column in columns)] for name in names]
        title = f"Fig. 15: SmallBank (A13), Voter (A14), Wikipedia (A15 to A17), runs of {runs}, {semantics} semantics"
        markdown(session, title.replace("papers semantics", "papers' semantics"), header, [*rows, means, papers])


def serializable(session, campaigns, runs):
    rows = []
    for workload in STRICT:
        row = [workload]
        for semantics in SEMANTICS:
            size = None if workload in ("twitter", "shopping-cart", "courseware", "treiber-stack") else (3, 4)
            found = campaigns.run(workload, "serializable", semantics, runs, size)
            failures = sum(one["failures"] for one in found["assertions"])
            asked = min(one["runs"] for one in found["assertions"])
            row += [str(asked), str(failures), str(found["violating"])]
        rows.append(row)
    header = ["workload", "runs asked, papers' semantics", "failures", "not serializable", "runs asked, default", "failures", "not serializable"]
    markdown(session, "Serializable: 3 sessions × 4 transactions, or the small harness", header, rows)


def rates(session, campaigns, runs):
    for size, place in (((3, 4), 0), ((3, 8), 1)):
        rows = []
        for (workload, level), papers in RATES.items():
            row = [f"{workload}, {LEVELS[level]}", f"{papers[place][0]} / {papers[place][1]}"]
            for semantics in SEMANTICS:
                found = campaigns.run(workload, level, semantics, runs, size)
                row.append(f"{percent(found['failed'], found['runs'])} / {percent(found['violating'], found['runs'])}")
            rows.append(row)
        title = f"IsoPredict's Tables 6 and 7: an assertion fails / not serializable, percent of {runs} runs, {size[0]} × {size[1]}"
        markdown(session, title, ["workload, level", "MonkeyDB's there", "papers' semantics", "default"], rows)


def traces(session, campaigns, runs):
    rows = []
    for workload, papers in TRACES.items():
        for size, paper in (((3, 4), papers[0]), ((3, 8), papers[1])):
            folder = session.folder / f"{workload}-{size[1]}"
            campaigns.run(workload, "serializable", "papers", runs, size, folder)
            counts = [0, 0, 0, 0]
            for file in sorted(folder.glob("*.jsonl")):
                for line in file.read_text().splitlines()[1:]:
                    transaction = json.loads(line)
                    if transaction["outcome"] != "committed":
                        continue
                    written = sum("w" in event for event in transaction["ops"])
                    counts[0] += sum("r" in event for event in transaction["ops"])
                    counts[1] += written
                    counts[2] += 1
                    counts[3] += written == 0
                session.drop(file)
            means = [count / runs for count in counts]
            ours, theirs = ([f"{reads:.1f}", f"{writes:.1f}", f"{all:.1f} ({only:.1f})"] for reads, writes, all, only in (means, paper))
            events = f"{means[0] + means[1]:.1f}"
            rows.append([f"{workload} {size[0]} × {size[1]}", theirs[0], ours[0], theirs[1], ours[1], events, theirs[2], ours[2]])
    header = ["workload", "reads there", "here", "writes there", "here", "events here", "committed (read-only) there", "here"]
    markdown(session, f"IsoPredict's Table 3: the size of a run, mean of {runs} at serializable", header, rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs; nothing is archived")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def main():
    wanted = arguments()
    session = Session("monkeydb")
    campaigns = Campaigns(session, wanted.jobs)
    many, some = (100, 20) if wanted.quick else (1000, 100)
    session.say()
    table_1(session, campaigns, many)
    figure_14(session, campaigns, some)
    figure_15(session, campaigns, some)
    rates(session, campaigns, some)
    traces(session, campaigns, 10)
    serializable(session, campaigns, many // 5 if wanted.quick else many)
    session.finish(keeps=not wanted.quick)


if __name__ == "__main__":
    main()
