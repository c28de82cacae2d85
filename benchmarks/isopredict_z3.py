#!/usr/bin/env python3
"""The problems of IsoPredict (PLDI 2024), stated to z3: can a recorded run become one that a level allows and that is not serializable?

    isopredict_z3.py HISTORY --level causal --strategy approx-strict

Every session is cut at one of its reads, or not at all. What is before the cut stays as it was; the read at the cut may read from another
writer; whatever happens after a transaction that was cut is gone:

    s1   read x    write x   |            boundary(s1) is infinity: all of it is in
    s2   read x  ‖ write x                boundary(s2) is behind its read, which is `on` the boundary: its writer is a choice

The strategies are the paper's: exact-strict says with a quantifier that no commit order exists; the approximate ones say that an order
which every commit order contains, pco, has a cycle, with ranks so that no edge of it justifies itself. The relaxed boundary is behind a
whole transaction, of which all reads may change and all writes count.

`--form published` writes every relation as a function of two transactions, for all pairs and all keys, as the published tool does.
`--form lean` has a Boolean per pair that can be related at all, which is less to generate and to solve.

One line of JSON is printed; seconds are of processor time. Needs the package z3-solver; predictions.py installs it below target/.
"""

import argparse
import json
import threading
import time

import z3

from traces import Trace

LEVELS = ["causal", "read-committed"]
STRATEGIES = ["exact-strict", "approx-strict", "approx-relaxed"]


class OutOfTime(Exception):
    """The formula alone took longer than allowed."""


class Relation:
    """A relation between transactions. In the lean form a pair that nothing can relate has no term, and None stands for false."""

    def __init__(self, problem, name, values=None):
        self.problem = problem
        self.name = name
        self.terms = {}
        self.sort = values if values is not None else z3.BoolSort()
        if problem.published:
            self.function = z3.Function(name, problem.sort, problem.sort, self.sort)

    def __call__(self, one, other):
        return self.terms.get((one, other))

    def term(self, one, other):
        """The term of a pair, made when it is asked for first."""
        found = self.terms.get((one, other))
        if found is None:
            if self.problem.published:
                found = self.function(self.problem.constants[one], self.problem.constants[other])
            else:
                found = z3.Const(f"{self.name} {one} {other}", self.sort)
            self.terms[one, other] = found
        return found

    def announce(self):
        """All pairs of different transactions have a term from now on, because their definitions need each other."""
        for one, other in self.problem.pairs:
            self.term(one, other)
        return self

    def define(self, causes):
        """The relation holds for a pair when one of its causes does."""
        if not self.problem.published:
            for pair, reasons in causes.items():
                if reasons or pair in self.terms:
                    self.problem.add(self.term(*pair) == either(reasons))
            return self
        for pair in self.problem.pairs:
            self.problem.add(self.term(*pair) == either(causes.get(pair, [])))
        for same in self.problem.numbers:
            self.problem.add(z3.Not(self.term(same, same)))
        return self


def either(terms):
    return z3.Or(*terms) if terms else z3.BoolVal(False)


def known(*terms):
    """Those of the terms that are not false from the start."""
    return [term for term in terms if term is not None]


class Problem:
    """The formulas of one trace, level and strategy."""

    def __init__(self, trace, level, strategy, published, deadline):
        self.trace = trace
        self.level = level
        self.exact = strategy.startswith("exact")
        self.relaxed = strategy.endswith("relaxed")
        self.published = published
        self.deadline = deadline
        self.solver = z3.Solver()
        self.assertions = 0
        self.numbers = trace.present()
        self.pairs = [(one, other) for one in self.numbers for other in self.numbers if one != other]
        if published:
            self.sort, self.constants = transactions_as_sort(self.numbers)
        self.writers = {key: [number for number in self.numbers if key in trace.transactions[number].writes] for key in trace.keys}
        self.readers = {}  # by key: transaction to its reads of the key
        for number in self.numbers:
            for read in trace.transactions[number].reads:
                self.readers.setdefault(read.key, {}).setdefault(number, []).append(read)
        self.boundaries = [z3.Int(f"boundary {session}") for session in range(len(trace.sessions))]
        self.choices = {}
        self.inside = {}
        self.at = {}

    def add(self, formula):
        self.assertions += 1
        if self.assertions % 256 == 0 and time.process_time() > self.deadline:
            raise OutOfTime
        self.solver.add(formula)

    def state(self):
        """All formulas, in the order in which they need each other."""
        self.state_boundaries()
        self.state_choices()
        self.state_reads()
        self.state_happens_before()
        self.state_arbitration()
        self.commit = {number: z3.Int(f"commit {number}") for number in self.numbers}
        if self.level == "causal":
            self.state_causal()
        else:
            self.state_read_committed()
        if self.exact:
            self.state_no_commit_order()
        else:
            self.state_cycle()

    # Boundaries and choices

    def infinity(self, session):
        return sum(self.trace.transactions[number].length for number in self.trace.sessions[session]) + 1

    def state_boundaries(self):
        for session, numbers in enumerate(self.trace.sessions):
            reads = [read for number in numbers for read in self.trace.transactions[number].reads]
            places = [read.position + 1 for read in reads] + [self.infinity(session)]
            self.add(either([self.boundaries[session] == place for place in places]))

    def is_cut(self, number):
        """The boundary of its session is in this transaction."""
        transaction = self.trace.transactions[number]
        boundary = self.boundaries[transaction.session]
        return z3.And(transaction.first < boundary, boundary <= transaction.first + transaction.length)

    def is_in(self, event):
        """The event is before the boundary of its session or on it."""
        found = self.inside.get(id(event))
        if found is None:
            transaction = self.trace.transactions[event.transaction]
            place = transaction.first if self.relaxed else event.position
            found = self.inside[id(event)] = place < self.boundaries[transaction.session]
        return found

    def is_on(self, read):
        """The read may change."""
        found = self.at.get(id(read))
        if found is None:
            boundary = self.boundaries[self.trace.transactions[read.transaction].session]
            found = self.is_cut(read.transaction) if self.relaxed else boundary == read.position + 1
            self.at[id(read)] = found
        return found

    def sources(self, read):
        """The places among the writers of its key of those that a read may read from: not itself, and nothing later in its session."""
        session = self.trace.transactions[read.transaction].session
        return [(place, writer) for place, writer in enumerate(self.writers[read.key])
                if self.trace.transactions[writer].session != session or writer < read.transaction]

    def state_choices(self):
        for key, readers in self.readers.items():
            for reads in readers.values():
                for read in reads:
                    choice = self.choices[id(read)] = z3.Int(f"choice {key} {read.transaction} {read.position}")
                    writes = [(place, self.trace.transactions[writer].writes[key]) for place, writer in self.sources(read)]
                    self.add(either([z3.And(choice == place, self.is_in(write)) for place, write in writes]))

    def reads_from(self, read, place, writer):
        """The read is in and reads from this writer."""
        chosen = self.choices[id(read)] == place
        if read.observed == writer:
            return z3.If(self.is_on(read), chosen, self.is_in(read))
        return z3.And(self.is_on(read), chosen)

    # Relations

    def state_reads(self):
        """wr of every key, and of all; so; and both together."""
        self.wr_of = {}
        union = {}
        for key, readers in self.readers.items():
            causes = {}
            for reader, reads in readers.items():
                for read in reads:
                    for place, writer in self.sources(read):
                        causes.setdefault((writer, reader), []).append(self.reads_from(read, place, writer))
            self.wr_of[key] = Relation(self, f"wr {key}").define(causes)
        for pair in self.pairs:
            union[pair] = known(*(relation(*pair) for relation in self.wr_of.values()))
        self.wr = Relation(self, "wr").define(union)
        order = {}
        for session in self.trace.sessions[1:]:
            order.update({pair: [z3.BoolVal(True)] for pair in zip([0, *session], session)})
        self.so = Relation(self, "so").define(order)

    def step(self, one, other):
        """wr or so, as terms of a disjunction."""
        return known(self.wr(one, other), self.so(one, other))

    def state_happens_before(self):
        self.hb = Relation(self, "hb").announce()
        causes = {}
        for one, other in self.pairs:
            causes[one, other] = self.step(one, other)
            for middle in self.numbers:
                last = self.step(middle, other) if middle not in (one, other) else []
                if last:
                    causes[one, other].append(z3.And(self.hb(one, middle), either(last)))
        self.hb.define(causes)
        self.present = {number: self.is_present(number) for number in self.numbers}

    def is_present(self, number):
        """A transaction is in unless it happens after one that was cut; a name for that, because it is asked everywhere."""
        terms = []
        for session, numbers in enumerate(self.trace.sessions):
            cut = [self.is_cut(one) if one == number else z3.And(self.is_cut(one), z3.Not(self.hb(one, number))) for one in numbers]
            terms.append(z3.Or(self.boundaries[session] == self.infinity(session), *cut))
        if self.published:
            return z3.And(*terms)
        name = z3.Bool(f"present {number}")
        self.add(name == z3.And(*terms))
        return name

    def conflicts(self):
        """Of every key: a writer, another writer of it, and somebody else who may read from the second."""
        for key, readers in self.readers.items():
            for first in self.writers[key]:
                write = self.trace.transactions[first].writes[key]
                for second in self.writers[key]:
                    for reader in readers:
                        related = self.wr_of[key](second, reader)
                        if first != second and reader not in (first, second) and related is not None:
                            guard = [self.is_in(write), self.present[first], self.present[reader], self.present[second], related]
                            yield key, first, second, reader, guard

    def by_key(self, name, found):
        """A relation as the union of one per key; `found` gives key, pair and cause."""
        keys, union = {}, {}
        for key, pair, cause in found:
            keys.setdefault(key, {}).setdefault(pair, []).append(cause)
        if not self.published:
            for causes in keys.values():
                for pair, reasons in causes.items():
                    union.setdefault(pair, []).extend(reasons)
            return Relation(self, name).define(union)
        relations = [Relation(self, f"{name} {key}").define(keys.get(key, {})) for key in self.trace.keys]
        return Relation(self, name).define({pair: [relation(*pair) for relation in relations] for pair in self.pairs})

    def state_arbitration(self):
        """ar: whoever happens before a reader of another version commits before the writer of that version."""
        self.ar = self.by_key("ar", (
            (key, (first, second), z3.And(*guard, self.hb(first, reader))) for key, first, second, reader, guard in self.conflicts()))

    # The level

    def state_order(self, kinds):
        self.add(z3.Distinct(*self.commit.values()))
        for one, other in self.pairs:
            causes = known(*(kind(one, other) for kind in kinds))
            if causes:
                self.add(z3.Implies(either(causes), self.commit[one] < self.commit[other]))

    def state_causal(self):
        self.state_order([self.wr, self.so, self.ar])

    def state_read_committed(self):
        """Who read from one transaction does not read a version of an earlier one afterwards."""
        self.state_order([self.wr, self.so])
        for number in self.numbers:
            reads = self.trace.transactions[number].reads
            for last in reads:
                if len(self.writers[last.key]) > 1:
                    for earlier in reads[: reads.index(last)]:
                        self.state_monotonic(earlier, last)

    def state_monotonic(self, earlier, last):
        writes = self.trace.transactions
        for place, writer in self.sources(last):
            for old_place, old in self.sources(earlier):
                if old != writer and last.key in writes[old].writes:
                    both = [self.reads_from(last, place, writer), self.is_in(writes[writer].writes[last.key]),
                            self.reads_from(earlier, old_place, old), self.is_in(writes[old].writes[earlier.key])]
                    self.add(z3.Implies(z3.And(*both), self.commit[old] < self.commit[writer]))

    # Not serializable

    def state_no_commit_order(self):
        """Exact: whatever the positions are, they are not a commit order."""
        position = {number: z3.Int(f"position {number}") for number in self.numbers}
        ordered = {}
        for _, first, second, reader, guard in self.conflicts():
            ordered.setdefault((first, second), []).append(z3.And(*guard, position[first] < position[reader]))
        rules = [z3.Distinct(*position.values())]
        for one, other in self.pairs:
            causes = self.step(one, other) + ordered.get((one, other), [])
            if causes:
                rules.append(z3.Implies(either(causes), position[one] < position[other]))
        self.add(z3.ForAll(list(position.values()), z3.Not(z3.And(*rules))))

    def state_cycle(self):
        """Approximate: what every commit order contains has a cycle."""
        rank = Relation(self, "rank", z3.IntSort())
        most = (len(self.numbers) - 1) ** 2
        for pair in self.pairs:
            self.add(z3.And(rank.term(*pair) >= 0, rank.term(*pair) < most))
        pco = Relation(self, "pco").announce()
        conflicts = list(self.conflicts())
        ww = self.by_key("ww", (
            (key, (first, second), z3.And(*guard, pco(first, reader), rank(first, second) > rank(first, reader)))
            for key, first, second, reader, guard in conflicts))
        rw = self.by_key("rw", (
            (key, (reader, first), z3.And(*guard, pco(second, first), rank(reader, first) > rank(second, first)))
            for key, first, second, reader, guard in conflicts))
        kinds = [self.hb, self.ar, ww, rw]
        causes = {}
        for one, other in self.pairs:
            causes[one, other] = known(*(kind(one, other) for kind in kinds))
            for middle in self.numbers:
                if middle not in (one, other):
                    edge = either(known(*(kind(middle, other) for kind in kinds)))
                    ranks = [rank(one, other) > rank(one, middle), rank(one, other) > rank(middle, other)]
                    causes[one, other].append(z3.And(pco(one, middle), edge, *ranks))
        pco.define(causes)
        self.add(either([z3.And(pco(one, other), pco(other, one)) for one, other in self.pairs if one < other]))

    # The answer

    def changed(self):
        """The reads that have another writer in the model."""
        model = self.solver.model()
        holds = lambda term: z3.is_true(model.eval(term, model_completion=True))
        found = []
        for readers in self.readers.values():
            for reads in readers.values():
                for read in reads:
                    writer = next((writer for place, writer in self.sources(read) if holds(self.reads_from(read, place, writer))), None)
                    if writer not in (None, read.observed):
                        names = [self.trace.transactions[number].name for number in (read.transaction, writer, read.observed)]
                        found.append({"transaction": names[0], "key": read.key, "from": names[1], "was": names[2]})
        return found


def transactions_as_sort(numbers):
    """A data type with a constructor per transaction."""
    kind = z3.Datatype("Transaction")
    for number in numbers:
        kind.declare(f"t{number}")
    kind = kind.create()
    return kind, {number: getattr(kind, f"t{number}") for number in numbers}


def check_until(solver, deadline):
    """Asks the solver, and interrupts it at a moment of processor time: its own limit is about the clock, which other work lets run out."""
    done = threading.Event()

    def watch():
        while not done.wait(0.05):
            if time.process_time() > deadline:
                solver.ctx.interrupt()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        return solver.check()
    except z3.Z3Exception:
        return z3.unknown
    finally:
        done.set()
        watcher.join()


def answer(wanted):
    began = time.process_time()
    trace = Trace(wanted.history, wanted.aborted)
    reads, writes, transactions, _ = trace.counts()
    result = {"verdict": "unknown", "level": wanted.level, "strategy": wanted.strategy, "form": wanted.form, "reads": reads,
              "writes": writes, "transactions": transactions, "assertions": None, "generate": None, "solve": None}
    problem = Problem(trace, wanted.level, wanted.strategy, wanted.form == "published", began + wanted.timeout)
    try:
        problem.state()
    except OutOfTime:
        return {**result, "assertions": problem.assertions, "generate": time.process_time() - began}
    generated = time.process_time()
    result["verdict"] = str(check_until(problem.solver, problem.deadline))
    result.update(assertions=problem.assertions, generate=generated - began, solve=time.process_time() - generated)
    if result["verdict"] == "sat":
        result["changed"] = problem.changed()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("history", help="a native history: JSON Lines")
    parser.add_argument("--level", choices=LEVELS, default="causal")
    parser.add_argument("--strategy", choices=STRATEGIES, default="exact-strict")
    parser.add_argument("--form", choices=["published", "lean"], default="published")
    parser.add_argument("--aborted", action="store_true", help="keep what transactions read that their own program aborted")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for generating and solving")
    found = answer(parser.parse_args())
    found.update({name: round(found[name], 3) for name in ("generate", "solve") if found[name] is not None})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
