#!/usr/bin/env python3
"""Histories that hide unsatisfiable 3-SAT: pruning decides nothing, so search and its proof do all the work.

The same reduction as in crates/check/tests/satisfiability.rs. An occurrence of a variable is a pair of transactions that write one
key, its value their order; a cycle through readers closes exactly when given occurrences have given values:

    T: w(o,1)    F: w(o,2)                          o is true when T's version is before F's

    reader of T's version -rw-> F (when o is true) -wr-> the next reader -rw-> ... -wr-> the first reader

A clause is a cycle through its three literals being false; one cycle per neighbouring pair of occurrences of a variable makes all of
them equal. Formulas are random, six clauses per variable; those that a small solver of this script satisfies are passed over, so all
histories must fail. Each is checked with its proof written, and the proof is then verified.
"""

import argparse
import json
import random

from measure import Session, measure

LEVELS = ["ser", "si", "pc"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", default="10,15,20,25,30,40,50", help="separated by commas")
    parser.add_argument("--ratio", type=float, default=6.0, help="clauses per variable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--timeout", type=float, default=600, help="seconds per process")
    parser.add_argument("--name", default="unsat", help="of the file under results/")
    return parser.parse_args()


def formula(variables, clauses, seed):
    """Clauses of three different variables, each (variable, negated)."""
    chance = random.Random(f"{variables}/{clauses}/{seed}")
    return [[(variable, chance.random() < 0.5) for variable in chance.sample(range(variables), 3)] for _ in range(clauses)]


def is_satisfiable(clauses):
    """A second opinion by the textbook: split on a variable of a shortest clause. `clauses` are sets of (variable, negated)."""
    if not clauses:
        return True
    shortest = min(clauses, key=len)
    if not shortest:
        return False
    variable, negated = min(shortest)
    for false in ((variable, not negated), (variable, negated)):
        true = (variable, not false[1])
        if is_satisfiable([clause - {false} for clause in clauses if true not in clause]):
            return True
        if len(shortest) == 1:
            return False
    return False


def unsatisfiable(variables, clauses, seed):
    """The first formula from this seed on that cannot be satisfied."""
    while True:
        found = formula(variables, clauses, seed)
        if not is_satisfiable([frozenset(clause) for clause in found]):
            return found
        seed += 1


def cycles_of(clauses, variables):
    """Occurrence 3 n + i is literal i of clause n; a cycle is a list of (occurrence, value)."""
    occurrences = [[] for _ in range(variables)]
    cycles = []
    for number, clause in enumerate(clauses):
        # A literal is false when its variable's value is whether it is negated.
        cycles.append([(3 * number + place, negated) for place, (_, negated) in enumerate(clause)])
        for place, (variable, _) in enumerate(clause):
            occurrences[variable].append(3 * number + place)
    for same in (same for same in occurrences if len(same) > 1):
        for place, one in enumerate(same):
            cycles.append([(one, True), (same[(place + 1) % len(same)], False)])
    return cycles


def write_history(path, clauses, variables):
    """A line per transaction, each a session of its own."""
    cycles = cycles_of(clauses, variables)
    links = {}
    for number, cycle in enumerate(cycles):
        for place, occurrence in enumerate(cycle):
            links.setdefault(occurrence, []).append(f"link/{number}/{place}")
    with open(path, "w") as out:
        def line(session, ops):
            out.write(json.dumps({"session": session, "id": session, "ops": ops}, separators=(",", ":")) + "\n")
        for occurrence in range(3 * len(clauses)):
            for value in (True, False):
                # A cycle that wants the occurrence true goes on through the writer of false, which is the later one then.
                ops = [{"w": f"o{occurrence}", "v": 1 if value else 2}]
                ops += [{"w": link, "v": 1} for link in links.get((occurrence, not value), [])]
                line(f"o{occurrence}={str(value).lower()}", ops)
        for number, cycle in enumerate(cycles):
            for place, (occurrence, value) in enumerate(cycle):
                before = f"link/{number}/{(place - 1) % len(cycle)}"
                line(f"c{number}.{place}", [{"r": before, "v": 1}, {"r": f"o{occurrence}", "v": 1 if value else 2}])


def proof_of(path):
    """Cycles, clauses and bytes of a certificate; nothing when it is an order."""
    text = path.read_text()
    steps = json.loads(text).get("steps")
    if steps is None:
        return None
    return sum("cycle" in step for step in steps), sum("clause" in step for step in steps), len(text)


def row(session, path, variables, level, wanted):
    proof = session.folder / "proof.json"
    command = [session.skew, "check", "--no-explain", "--stats", "--format", "json",
               "--level", level, "--certificate", proof, path]
    run = measure(command, wanted.timeout)
    session.note(f"  {variables} variables, {level}: {run.verdict}, {run.seconds:.2f} s")
    if run.code not in (0, 1):
        return [f"{variables} {level}", run.verdict] + [""] * 9
    found = json.loads(run.output[run.output.index('{"skew"'):])["histories"][0]
    numbers = found["verdicts"][0]["statistics"]
    check = measure([session.skew, "check", "--verify", proof, path], wanted.timeout)
    size = proof_of(proof)
    proof.unlink()
    steps = ["", "", ""] if size is None else [str(size[0]), str(size[1]), f"{size[2] / 1000:.0f} kB"]
    valid = {0: "valid", 1: "NOT VALID", None: "stopped"}.get(check.code, f"exit {check.code}")
    return [f"{variables} {level}", run.verdict, str(found["transactions"]),
            f"{numbers['constraints_before']} → {numbers['constraints_after']}", str(numbers["conflicts"]),
            f"{run.seconds:.2f} s", *steps, f"{check.seconds:.2f} s", valid]


def main():
    wanted = arguments()
    session = Session(wanted.name)
    session.say("$ skew check --no-explain --stats --format json --level LEVEL --certificate PROOF FILE")
    session.say("$ skew check --verify PROOF FILE")
    session.say()
    rows = []
    for variables in (int(count) for count in wanted.variables.split(",")):
        clauses = round(wanted.ratio * variables)
        path = session.folder / f"unsat-{variables}.jsonl"
        write_history(path, unsatisfiable(variables, clauses, wanted.seed), variables)
        rows += [row(session, path, variables, level, wanted) for level in wanted.levels.split(",")]
        session.drop(path)
    session.table(["variables, level", "verdict", "transactions", "constraints, pruned", "conflicts", "time",
                   "cycles", "clauses", "proof", "verified in", ""], rows)
    session.finish()


if __name__ == "__main__":
    main()
