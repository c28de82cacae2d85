#!/usr/bin/env python3
"""What every question of `skew analyze` costs: TPC-C with nine tables, TPC-C as point statements, SmallBank, courseware, withdraw.

    benchmarks/analyze.py                # a minute or two

A question is a level, an engine and a number of transactions; the acceptance is a second for each. Beside ours stands z3 on the same formula, where
the clients' folder has it (SKEW_CLIENTS): it reads the text that our solver's question is written as, and only its search is measured. z3 is stopped
after thirty seconds. SmallBank lies beside the project (SKEW_SHARED), and is left out with a visible line where it does not.
"""

import os
import subprocess
import sys
from pathlib import Path

from measure import ROOT, Session

SHARED = Path(os.environ.get("SKEW_SHARED", ROOT.parent / "shared"))
CLIENTS = Path(os.environ.get("SKEW_CLIENTS", ROOT / "target" / "clients"))
PAPERS = "eventual,causal,prefix,psi,snapshot,serializable"
POSTGRESQL = "rc,rr,lowest,postgres:read-committed,postgres:repeatable-read"
RAISED = """snapshot(enroll)
serializable(add_course, add_course)
serializable(add_student, add_student)
serializable(enroll, rem_course)
serializable(enroll, rem_student)
"""
Z3 = """
import sys, time, z3
for file in sys.stdin.read().split():
    solver = z3.Solver()
    solver.set('timeout', 30000)
    solver.from_string(open(file).read())
    start = time.process_time()
    answer = solver.check()
    print(file, answer, time.process_time() - start, flush=True)
"""
SAYS = {"sat": "found", "unsat": "none"}


def programs(session):
    """Name, file, levels, the longest path."""
    raised = session.folder / "raised.txt"
    raised.write_text(RAISED)
    examples = ROOT / "examples"
    yield "tpcc-full", examples / "analyze" / "tpcc-full.sql", f"{POSTGRESQL},{PAPERS}", 8
    yield "tpcc-kv", examples / "analyze" / "tpcc-kv.sql", f"{POSTGRESQL},{PAPERS}", 4
    yield "courseware", examples / "analyze" / "courseware-anode.sql", f"{POSTGRESQL},{PAPERS},{raised}", 8
    yield "withdraw", examples / "withdraw.sql", f"{POSTGRESQL},{PAPERS}", 4
    bank = SHARED / "analyze" / "smallbank.sql"
    if bank.exists():
        yield "smallbank", bank, f"{POSTGRESQL},{PAPERS}", 4
    else:
        session.say("skipped: SmallBank, because there is no shared folder with it")


def asked(session, name, file, levels, longest):
    """Each question: seconds, level, what was asked, what was answered, the file of its formula."""
    command = [session.skew, file, levels, str(longest), session.folder / name]
    session.say(f"$ {session.shown(command)}")
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def second_opinions(session, files):
    """What z3 says to each file, and its seconds; nothing where it is not installed."""
    python = CLIENTS / "python" / "bin" / "python"
    if not python.exists() or subprocess.run([python, "-c", "import z3"], capture_output=True, check=False).returncode != 0:
        session.say("skipped: z3, because the clients' folder has none")
        return {}
    version = subprocess.run([python, "-c", "import z3; print(z3.get_version_string())"], capture_output=True, text=True, check=True)
    session.say(f"z3 {version.stdout.strip()} on the same formulas")
    done = subprocess.run([python, "-c", Z3], input="\n".join(files), capture_output=True, text=True, check=True)
    return {file: (answer, float(seconds)) for file, answer, seconds in (line.split() for line in done.stdout.splitlines())}


def row(name, question, opinions):
    seconds, level, words, answer, file = question
    cells = [f"{name} {level}", words, answer if len(answer) < 30 else "per transaction", f"{float(seconds):.4f} s"]
    if file not in opinions:
        return [*cells, "", ""]
    says, theirs = opinions[file]
    if SAYS.get(says, answer) != answer:
        sys.exit(f"{name} at {level}, {words}: {answer} here, {says} there")
    return [*cells, f"{theirs:.4f} s" if says in SAYS else "> 30 s", f"{float(seconds) / max(theirs, 1e-6):.2f}"]


def main():
    session = Session("analyze", ("skew-analyze", "questions"))
    questions = [(name, question) for name, *rest in programs(session) for question in asked(session, name, *rest)]
    opinions = second_opinions(session, [question[4] for _, question in questions if question[4] != "-"])
    session.say("processor seconds of every question; z3's beside them, and ours to z3's (below 1: ours is faster)")
    session.say("(the paper reports under 10 s for TPC-C on its machine)")
    session.say()
    rows = [row(name, question, opinions) for name, question in questions]
    session.table(["program, level", "question", "answer", "time", "z3", "ratio"], rows)
    slowest = max(questions, key=lambda one: float(one[1][0]))
    slow = [one for one in questions if float(one[1][0]) > 1]
    session.say(f"{len(questions)} questions, {len(slow)} above 1 s; the slowest: {slowest[0]} at {slowest[1][1]}, {slowest[1][2]}: "
                f"{float(slowest[1][0]):.4f} s")
    both = [(float(question[0]), opinions[question[4]][1]) for _, question in questions if question[4] in opinions]
    if both:
        session.say(f"all questions that z3 was asked, together: {sum(ours for ours, _ in both):.2f} s, and {sum(theirs for _, theirs in both):.2f} s in z3")
    session.finish()
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
