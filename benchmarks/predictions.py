#!/usr/bin/env python3
"""The evaluation of IsoPredict (PLDI 2024, Tables 3 to 7) made again with `skew predict`, and its speed beside the paper's method in z3.

    recorded once ──> archive ──> predicted by every strategy ──> replayed        Tables 3 to 7, beside the paper's numbers
                                └── 3 × 4, whole tables read ──> z3, as the paper states it: the ratio of processor time

Runs are recorded twice: by key (i), and with lookups that read whole tables (ii), as the paper's store does; only those are about as large as the
paper's. The recordings are kept under results/ and used again by the next call; `--record` makes new ones. The z3 part needs the package
z3-solver, which is installed below target/ unless SKEW_Z3 names a Python that has it.

    predictions.py                       everything: half an hour
    predictions.py --parts tables        Tables 3 to 7 alone
    predictions.py --parts speed,curve   what it costs, beside z3
    predictions.py --parts replays       what replays of the predictions come to, archived by itself: for a machine that is busy
    predictions.py --quick               two minutes, nothing is archived
"""

import argparse
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import isopredict_paper as paper
from measure import RESULTS, ROOT, Session, best_of, first_line, measure
from traces import Trace

ARCHIVE = RESULTS / "predictions-traces.tar.gz"
Z3_PACKAGE = "z3-solver==5.4.0.0"
KINDS = {"i": ("by key", []), "ii": ("whole tables", ["--scan"])}
STRATEGIES = ["exact-strict", "approx-strict", "exact-relaxed", "approx-relaxed", "exact"]
LEVELS = {"causal": "causal", "read-committed": "rc"}
# What is recorded, and what repeats a prediction of it; `{level}` is the level that was predicted for.
RECORDED = "run {workload} --updates plain --serial --sessions 3 --transactions {size} --seed {seed}"
RECORDING = RECORDED + " --level serializable"
REPLAY = "{skew} " + RECORDED + " --level {level}"
EXTRA = {"voter": ["--limit", "1"]}
CURVE = [4, 8, 16, 32, 64, 100, 200, 400, 800, 1600]


class Recordings:
    """The traces by kind, workload, size and seed, in a folder; from the archive where there is one."""

    def __init__(self, session, seeds, again):
        self.session = session
        self.seeds = seeds
        self.folder = session.folder / "traces"
        self.folder.mkdir(exist_ok=True)
        if ARCHIVE.exists() and not again:
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(self.folder, filter="data")
            session.say(f"traces: those of {ARCHIVE.name}")

    def of(self, kind, workload, size):
        return [self.trace(kind, workload, size, seed) for seed in self.seeds]

    def all(self):
        return [path for kind in KINDS for workload in paper.WORKLOADS for size in paper.SIZES for path in self.of(kind, workload, size)]

    def trace(self, kind, workload, size, seed):
        path = self.folder / f"{kind}-{workload}-3x{size}-{seed}.jsonl"
        if not path.exists():
            words = [*RECORDING.format(workload=workload, size=size, seed=seed).split(), *self.options(kind, workload)]
            done = subprocess.run([self.session.skew, *words, "-q", "--record", path], capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1):
                sys.exit(f"{self.session.shown(['skew', *words])}\n{done.stderr}")
        return path

    def options(self, kind, workload):
        return [*KINDS[kind][1], *EXTRA.get(workload, [])]

    def replay(self, path, level):
        """The command that a prediction from this trace is replayed with."""
        kind, workload, size, seed = path.stem.split("-")
        words = REPLAY.format(skew=self.session.skew, workload=workload, size=size.removeprefix("3x"), seed=seed, level=level)
        return " ".join([words, *self.options(kind, workload)])

    def archive(self):
        """The same bytes from the same traces."""
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as out, tarfile.open(fileobj=out, mode="w") as archive:
            for path in sorted(self.all()):
                entry = tarfile.TarInfo(path.name)
                entry.size = path.stat().st_size
                archive.addfile(entry, io.BytesIO(path.read_bytes()))
        ARCHIVE.write_bytes(packed.getvalue())
        self.session.say(f"archived: {ARCHIVE.name}, {len(packed.getvalue()) / 1e6:.1f} MB")


class Answer:
    """What `skew predict` said of one trace, level and strategy."""

    def __init__(self, run, limit):
        found = json_of(run.output)
        self.verdict = found["predictions"][0]["verdict"] if found and found.get("predictions") else "unknown"
        # Whoever found a run may still be stopped while making it smaller.
        self.is_complete = self.verdict != "unknown" and run.seconds < limit
        self.run = run
        self.validated = None

    @property
    def seconds(self):
        """Of processor time; of somebody who had to be killed, what the clock says."""
        return self.run.seconds if self.run.code is None else self.run.processor

    @property
    def milliseconds(self):
        return 1000 * self.seconds


def json_of(output):
    """The object in what a process printed, or nothing."""
    start = output.find("{")
    try:
        return json.JSONDecoder().raw_decode(output[start:])[0] if start >= 0 else None
    except json.JSONDecodeError:
        return None


class Predictor:
    """Asks `skew predict`, each question once."""

    def __init__(self, session, recordings, limit, times):
        self.session = session
        self.recordings = recordings
        self.limit = limit
        self.times = times
        self.done = {}

    def command(self, path, level, strategy):
        return [self.session.skew, "predict", path, "--level", level, "--strategy", strategy, "--updates", "plain",
                "--timeout", f"{self.limit:.0f}s", "--format", "json"]

    def ask(self, path, level, strategy):
        key = (path, level, strategy)
        if key not in self.done:
            run = best_of(self.times, self.command(*key), 2 * self.limit)
            if run.code not in (0, 1, 3, None):
                sys.exit(f"{self.session.shown(self.command(*key))}\n{run.output}")
            self.done[key] = Answer(run, self.limit)
        return self.done[key]

    def replayed(self, path, level, strategy):
        """The same, and where a run was found what became of it in a replay."""
        answer = self.ask(path, level, strategy)
        if answer.verdict == "found" and answer.validated is None:
            run = measure([*self.command(path, level, strategy), "--replay", self.recordings.replay(path, level)], 4 * self.limit)
            found = json_of(run.output) or {}
            runs = [one for prediction in found.get("predictions", []) for one in prediction.get("runs", [])]
            answer.validated = runs[0].get("validated", "none") if runs else "none"
            if not found:
                self.session.note(f"  no replay of {path.name}: {run.output.strip()[-300:]}")
        return answer


class Bars:
    """What is promised, and what was measured."""

    def __init__(self):
        self.rows = []

    def add(self, what, measured, holds):
        self.rows.append([what, measured, "holds" if holds else "MISSED"])


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else 0


def percent(part, whole):
    return f"{100 * part / whole:.0f}" if whole else "–"


def few(names, what):
    """How many there are, and the first of them."""
    return f"{len(names)} {what}" + "".join(f", {name}" for name in names[:2]) + (", …" if len(names) > 2 else "")


# Tables 3 to 7


def table_3(session, recordings, bars):
    rows, factors = [], {"reads": [], "writes": []}
    for workload in paper.WORKLOADS:
        for size in paper.SIZES:
            there = paper.SIZE[workload, size]
            for kind in KINDS:
                traces = [Trace(path) for path in recordings.of(kind, workload, size)]
                reads, writes = (mean(trace.accesses[place] for trace in traces) for place in (0, 1))
                committed, only = (mean(trace.counts()[place] for trace in traces) for place in (2, 3))
                factor = reads / there[0]
                if kind == "ii":
                    for what, one in (("reads", factor), ("writes", writes / there[1])):
                        factors[what].append((max(one, 1 / one), f"{workload} 3 × {size}"))
                rows.append([f"({kind}) {workload} 3 × {size}", f"{there[0]:.1f}", f"{reads:.1f}", f"{factor:.2f}", f"{there[1]:.1f}", f"{writes:.1f}",
                             f"{writes / there[1]:.2f}", f"{there[2]:.1f} ({there[3]:.1f})", f"{committed:.1f} ({only:.1f})"])
    session.say(f"Table 3: the size of a run, mean of {len(recordings.seeds)}; (i) by key, (ii) whole tables")
    session.table(["run", "reads there", "here", "factor", "writes there", "here", "factor", "committed (read-only) there", "here"], rows)
    for what, all_of_them in factors.items():
        worst, where = max(all_of_them)
        bars.add(f"(ii) has as many {what} as Table 3, within a factor of 2", f"at most {worst:.2f} ({where})", worst <= 2)


def outcomes(answers):
    """Unknown, none, found, observed; validated, diverged, not validated, not replayed."""
    verdicts = [answer.verdict for answer in answers]
    replays = [answer.validated for answer in answers if answer.verdict == "found"]
    return [verdicts.count(word) for word in ("unknown", "none", "found", "observed")], [
        replays.count(word) for word in ("validated", "diverged", "not-validated", "none")]


def paper_time(row):
    """Seconds to generate and to solve, the slower of sat and unsat."""
    return row[5] + max(row[6] or 0, row[7] or 0)


def tables_4_and_5(session, recordings, predictor, bars):
    tally = {}
    for level in LEVELS:
        for size in paper.SIZES:
            for kind, (name, _) in KINDS.items():
                rows = [found_row(recordings, predictor, tally, (level, size, kind, workload), strategy)
                        for workload in paper.WORKLOADS for strategy in STRATEGIES]
                number = 4 if level == "causal" else 5
                session.say(f"Table {number}: predictions at {level}, 3 × {size}, ({kind}) {name}, of {len(recordings.seeds)} runs; the paper's in front")
                header = ["workload, strategy", "no answer there", "here", "none there", "here", "found there", "here", "validated there", "here",
                          "diverged there", "here", "not validated", "not replayed", "processor time there", "here"]
                session.table(header, rows)
                session.note(f"  table {number}, {size}, {kind} done")
    prediction_bars(tally, bars)


def replays(session, recordings, predictor, strategies, bars):
    """What becomes of the predictions of Tables 4 and 5, and not how long they take: for a machine that is busy."""
    tally, rows = {}, []
    for level in LEVELS:
        for size in paper.SIZES:
            for kind in KINDS:
                for workload in paper.WORKLOADS:
                    for strategy in strategies:
                        place = (level, size, kind, workload)
                        found_row(recordings, predictor, tally, place, strategy)
                        found, _, _, counts = tally[place, strategy]
                        rows.append([f"{level} 3 × {size}, ({kind}) {workload}, {strategy}", *map(str, [found, *counts])])
                session.note(f"  {level}, {size}, {kind} done")
    session.say(f"Predictions of Tables 4 and 5 and what their replays came to, of {len(recordings.seeds)} runs each")
    session.table(["level, size, workload, strategy", "found", "validated", "diverged", "not validated", "not replayed"], rows)
    prediction_bars(tally, bars)


def found_row(recordings, predictor, tally, place, strategy):
    level, size, kind, workload = place
    answers = [predictor.replayed(path, level, strategy) for path in recordings.of(kind, workload, size)]
    (unknown, none, found, observed), replays = outcomes(answers)
    tally[place, strategy] = (found, none, unknown + observed, replays)
    row = paper.found(level, size, workload, strategy)
    there = [str(number) for number in row[:5]] if row else ["–"] * 5
    here = [str(unknown + observed), str(none), str(found), str(replays[0]), str(replays[1])]
    columns = [cell for pair in zip(there, here) for cell in pair]
    time = f"{paper_time(row):.1f} s" if row else "–"
    return [f"{workload}, {strategy}", *columns, str(replays[2]), str(replays[3]), time, milliseconds(answers)]


def milliseconds(answers):
    """The mean, and at least that where a search was stopped."""
    return f"{'' if all(answer.is_complete for answer in answers) else '> '}{mean(answer.milliseconds for answer in answers):.1f} ms"


def prediction_bars(tally, bars):
    weaker = []
    for (place, strategy), (found, _, _, _) in tally.items():
        if strategy.startswith("approx") and tally[place, strategy.replace("approx", "exact")][0] < found:
            weaker.append(" ".join([*map(str, place), strategy]))
    bars.add("exact finds what the approximation finds", few(weaker, "rows with fewer"), not weaker)
    voter = sum(found for (place, _), (found, *_) in tally.items() if place[0] == "causal" and place[3] == "voter")
    bars.add("Voter at causal: none, by any strategy", f"{voter} found", voter == 0)
    open_ones = sum(rest for (_, strategy), (_, _, rest, _) in tally.items() if strategy.startswith("exact"))
    bars.add("every exact question has an answer", f"{open_ones} without", open_ones == 0)
    for boundary, share in (("strict", 99), ("relaxed", 95)):
        replays = [replay for (_, strategy), (_, _, _, replay) in tally.items() if strategy.endswith(boundary)]
        if not replays:
            continue
        validated, whole = sum(replay[0] for replay in replays), sum(sum(replay) for replay in replays)
        text = f"{validated} of {whole}, {sum(replay[1] for replay in replays)} diverged"
        bars.add(f"{boundary} predictions validate, {share} %", text, 100 * validated >= share * whole)


def campaign(session, words):
    """What `skew run` says of many runs."""
    done = subprocess.run([str(word) for word in [session.skew, "run", *words, "--format", "json"]], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        session.note(done.stderr)
        return None
    return json_of(done.stdout)


def tables_6_and_7(session, recordings, predictor, runs, server):
    for level in LEVELS:
        for size in paper.SIZES:
            rows = [rates_row(session, recordings, predictor, (level, size, workload), runs, server) for workload in paper.WORKLOADS]
            number = 6 if level == "causal" else 7
            real = f"; {server} runs on a real server in which an assertion fails" if level == "read-committed" else ""
            session.say(f"Table {number}: percent of runs at {level}, 3 × {size}: {runs} random ones in which an assertion fails / that are not serializable;")
            session.say(f"predictions that validated, by {paper.BEST[level]} and by exact{real}")
            header = ["workload", "random there", "here", "predicted there", "(i)", "(i) exact", "(ii)", "(ii) exact"]
            session.table(header + (["MySQL there", "MariaDB here"] if level == "read-committed" else []), rows)


def rates_row(session, recordings, predictor, place, runs, server):
    level, size, workload = place
    there = paper.RATES[level, size][workload]
    common = [workload, "--sessions", 3, "--transactions", size, *EXTRA.get(workload, [])]
    random = campaign(session, [*common, "--level", level, "--updates", "plain", "--runs", runs, "--jobs", os.cpu_count()])
    row = [workload, f"{there[0]} / {there[1]}", f"{percent(random['failed'], runs)} / {percent(random['violating'], runs)}" if random else "–", str(there[2])]
    for kind in KINDS:
        for strategy in (paper.BEST[level], "exact"):
            answers = [predictor.replayed(path, level, strategy) for path in recordings.of(kind, workload, size)]
            row.append(percent(sum(answer.validated == "validated" for answer in answers), len(answers)))
    if level == "read-committed":
        real = campaign(session, [*common, "--level", level, "--up", "mariadb", "--runs", server]) if server else None
        row += [str(there[3]), percent(real["failed"], server) if real else "not run"]
    return row


# Speed


def python_with_z3(session):
    """A Python that has z3, in a virtual environment that is made once."""
    given = os.environ.get("SKEW_Z3")
    python = Path(given) if given else ROOT / "target" / "z3" / "bin" / "python"
    if not python.exists():
        session.note(f"installing {Z3_PACKAGE}")
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    if subprocess.run([python, "-c", "import z3"], capture_output=True, check=False).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "--quiet", Z3_PACKAGE], check=True)
    session.say("z3: " + first_line([python, "-c", "import z3; print(z3.get_full_version())"]) + ", " + first_line([python, "--version"]))
    return python


class Z3:
    """Asks the script that states the paper's problems, each question once."""

    def __init__(self, session, limit):
        self.session = session
        self.python = python_with_z3(session)
        self.limit = limit
        self.done = {}

    def ask(self, path, level, strategy, form):
        """The verdict, seconds of processor time of the whole process, and what the script said. Unfinished: what it took until then."""
        key = (path, level, strategy, form)
        if key not in self.done:
            script = Path(__file__).resolve().parent / "isopredict_z3.py"
            words = [self.python, script, path, "--level", level, "--strategy", strategy, "--form", form, "--aborted", "--timeout", self.limit]
            run = measure(words, 10 * self.limit)  # its limit is of processor time
            said = json_of(run.output) or {"verdict": "unknown"}
            if run.code not in (0, None):
                sys.exit(f"{self.session.shown(words)}\n{run.output}")
            self.session.note(f"  z3 {path.name} {level} {strategy} {form}: {said['verdict']}, {run.processor:.1f} s")
            self.done[key] = (said["verdict"], run.processor, said)
        return self.done[key]


def ratio(theirs, ours, finished):
    """How many times as long; at least so many where the other did not finish."""
    return f"{'' if finished else '> '}{theirs / ours:,.0f} ×"


def compare(z3, predictor, paths, level, strategy, form):
    """Both on the same traces: total and smallest ratio, whether z3 finished all, and where both answered otherwise."""
    if not paths:
        return None
    ratios, theirs, ours, unfinished, lost, other = [], 0, 0, 0, 0, []
    for path in paths:
        verdict, seconds, _ = z3.ask(path, level, strategy, form)
        answer = predictor.ask(path, level, "exact-strict")
        ratios.append(seconds / answer.seconds)
        theirs, ours = theirs + seconds, ours + answer.seconds
        unfinished += verdict == "unknown"
        lost += answer.verdict == "unknown"
        if (verdict, answer.verdict) in (("sat", "none"), ("unsat", "found")):
            other.append((path, verdict))
    text = f"{lost} not decided" if lost else ratio(theirs, ours, not unfinished)
    return {"ratio": text, "lost": lost, "number": theirs / ours, "smallest": min(ratios), "theirs": theirs / len(paths),
            "ours": ours / len(paths), "unfinished": unfinished, "other": other}


def speed_small(session, recordings, predictor, z3, wanted, bars):
    """3 × 4, whole tables: exact-strict beside the approximation in z3, and beside its exact formula."""
    rows, least, wrong = [], [], []
    for level in LEVELS:
        for workload in paper.WORKLOADS:
            paths = recordings.of("ii", workload, 4)[: wanted.speed_traces]
            published, lean = (compare(z3, predictor, paths, level, "approx-strict", form) for form in ("published", "lean"))
            exact = compare(z3, predictor, paths[: wanted.exact_traces], level, "exact-strict", "published")
            missed = [path.name for one in (published, lean) for path, verdict in one["other"] if verdict == "sat"]
            wrong += missed + [path.name for path, _ in (exact["other"] if exact else [])]
            least.append((published["number"], f"{workload} {LEVELS[level]}"))
            ours = milliseconds([predictor.ask(path, level, "exact-strict") for path in paths])
            rows.append([f"{workload}, {LEVELS[level]}", str(len(paths)), ours, f"{published['theirs']:.2f} s", str(published["unfinished"]),
                         published["ratio"], f"{published['smallest']:,.0f} ×", f"{lean['theirs']:.2f} s", str(lean["unfinished"]), lean["ratio"],
                         *([f"{exact['theirs']:.2f} s", str(exact["unfinished"]), exact["ratio"]] if exact else ["–"] * 3)])
    session.say(f"Speed on (ii), 3 × 4: exact-strict of skew beside z3, whole processes, processor time, means; z3 is stopped after {wanted.z3_limit:.0f} s.")
    session.say("approx: the paper's approx-strict as the published tool states it; lean: the same with a Boolean per pair that can be related;")
    session.say(f"exact: the paper's exact-strict, on {wanted.exact_traces} of the traces")
    session.table(["workload, level", "traces", "skew", "z3 approx", "unfinished", "ratio", "smallest", "z3 lean", "unfinished", "ratio", "z3 exact",
                   "unfinished", "ratio"], rows)
    number, where = min(least)
    open_ones = sum(answer.verdict == "unknown" for (path, _, strategy), answer in predictor.done.items() if strategy == "exact-strict" and "3x4" in path.name)
    bars.add("(ii) 3 × 4: every trace decided exactly", f"{open_ones} without answer", open_ones == 0)
    bars.add("(ii) 3 × 4: exact-strict 100 × as fast as the approximation in z3", f"{number:,.0f} × ({where}) or more", number >= 100)
    bars.add("no answer of z3 contradicts an exact one", few(wrong, "do"), not wrong)


def speed_large(session, recordings, predictor, z3, wanted, bars):
    """3 × 8, whole tables: every trace, exactly, beside z3 on the first and beside the paper."""
    rows, slowest, undecided = [], (0, ""), 0
    for level in LEVELS:
        for workload in paper.WORKLOADS:
            paths = recordings.of("ii", workload, 8)
            for strategy in ("exact-strict", "exact-relaxed"):
                answers = [predictor.ask(path, level, strategy) for path in paths]
                most = max(answer.milliseconds for answer in answers)
                slowest = max(slowest, (most, f"{workload} {LEVELS[level]} {strategy}"))
                (unknown, none, found, observed), _ = outcomes(answers)
                undecided += unknown + observed
                there = z3.ask(paths[0], level, "approx-strict", "published") if wanted.large_traces and strategy == "exact-strict" else None
                row = paper.found(level, 8, workload, strategy.replace("exact-relaxed", "approx-relaxed"))
                ours = mean(answer.milliseconds for answer in answers)
                rows.append([f"{workload}, {LEVELS[level]}, {strategy}", f"{found} / {none} / {unknown + observed}", milliseconds(answers), f"{most:.1f} ms",
                             f"{there[1]:.1f} s" if there else "–",
                             ratio(1000 * there[1], answers[0].milliseconds, there[0] != "unknown") if there else "–",
                             f"{paper_time(row):,.0f} s, {row[0]} without answer", ratio(1000 * paper_time(row), ours, row[0] == 0)])
    session.say("Speed on (ii), 3 × 8: every trace decided exactly; beside z3's approx-strict on the first trace, and what the paper says of its machine:")
    session.say("exact-strict beside exact-strict, and approx-relaxed beside exact-relaxed, which it has not")
    session.table(["workload, level, strategy", "found / none / no answer", "skew, mean", "slowest", "z3 approx", "ratio", "the paper's", "ratio"], rows)
    bars.add("(ii) 3 × 8: every trace decided exactly within 1 s", f"slowest {slowest[0]:.0f} ms ({slowest[1]}), {undecided} undecided",
             slowest[0] <= 1000 and not undecided)


def curve(session, recordings, predictor, z3, wanted, bars):
    """Smallbank with more and more transactions until one point takes too long, for each strategy."""
    decided = set()
    for level in LEVELS:
        for strategy in ("exact-strict", "exact-relaxed"):
            rows, before, asks_z3, end = [], None, True, "the longest that was tried"
            for size in wanted.curve:
                path = recordings.trace("ii", "smallbank", size, 1)
                answer = predictor.ask(path, level, strategy)
                if answer.run.code is None or answer.verdict == "unknown":
                    end = f"3 × {size} has no answer within {wanted.limit:.0f} s"
                    break
                there = z3.ask(path, level, "approx-" + strategy.split("-")[1], "lean") if asks_z3 else None
                asks_z3 = there is not None and there[0] != "unknown"
                rows.append([f"3 × {size}", str(Trace(path).accesses[0]), answer.verdict, milliseconds([answer]), f"{answer.run.megabytes:.0f} MB",
                             f"{answer.milliseconds / before:.1f} ×" if before else "–",
                             ratio(1000 * there[1], answer.milliseconds, asks_z3) if there else "–"])
                before = answer.milliseconds
                decided.add((level, strategy, size))
            session.say(f"Smallbank (ii) at {level} by {strategy}, to where it ends: {end};")
            session.say(f"beside z3 (approx, lean) until that does not finish in {wanted.z3_limit:.0f} s")
            session.table(["size", "reads", "verdict", "processor time", "memory", "to the one before", "z3 to skew"], rows)
    if 100 in wanted.curve:
        asked = {(level, strategy, 100) for level in LEVELS for strategy in ("exact-strict", "exact-relaxed")}
        bars.add("3 × 100 Smallbank transactions decided", f"{len(asked & decided)} of {len(asked)}", asked <= decided)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="tables,speed,curve", help="separated by commas")
    parser.add_argument("--traces", type=int, default=10, help="seeds per workload and size")
    parser.add_argument("--speed-traces", type=int, default=3, help="of these, how many z3 gets at 3 × 4")
    parser.add_argument("--exact-traces", type=int, default=1, help="of these, how many it gets with the exact formula")
    parser.add_argument("--large-traces", type=int, default=1, help="0: z3 gets none of 3 × 8")
    parser.add_argument("--z3-limit", type=float, default=30, help="seconds of processor time per question to z3")
    parser.add_argument("--limit", type=float, default=60, help="seconds per question to skew")
    parser.add_argument("--runs", type=int, default=100, help="random runs of Tables 6 and 7")
    parser.add_argument("--server-runs", type=int, default=20, help="runs on a MariaDB in Table 7; 0: none")
    parser.add_argument("--curve", default=",".join(map(str, CURVE)), help="transactions per session, separated by commas")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="those of the part `replays`, separated by commas; the exact ones first")
    parser.add_argument("--record", action="store_true", help="record anew although there is an archive")
    parser.add_argument("--quick", action="store_true", help="two minutes, nothing is archived")
    wanted = parser.parse_args()
    if wanted.quick:
        wanted.traces, wanted.speed_traces, wanted.exact_traces, wanted.large_traces = 1, 1, 0, 0
        wanted.z3_limit, wanted.limit, wanted.runs, wanted.server_runs, wanted.curve = 3, 2, 20, 0, "4,8,16"
    wanted.curve = [int(size) for size in wanted.curve.split(",")]
    if wanted.server_runs and not shutil.which("mariadbd"):
        print("there is no MariaDB: Table 7 is made without", file=sys.stderr)
        wanted.server_runs = 0
    return wanted


def main():
    wanted = arguments()
    parts = wanted.parts.split(",")
    session = Session("predictions-replays" if parts == ["replays"] else "predictions")
    recordings = Recordings(session, range(1, wanted.traces + 1), wanted.record)
    predictor = Predictor(session, recordings, wanted.limit, 1 if wanted.quick or parts == ["replays"] else 3)
    bars = Bars()
    session.say("$ skew " + RECORDING.format(workload="WORKLOAD", size="4|8", seed="S") + " --record FILE; (ii) with --scan; voter with --limit 1")
    session.say(f"$ skew predict FILE --level L --strategy STRATEGY --updates plain --timeout {wanted.limit:.0f}s --format json; the best of {predictor.times}")
    session.say()
    if "tables" in parts:
        table_3(session, recordings, bars)
        tables_4_and_5(session, recordings, predictor, bars)
        tables_6_and_7(session, recordings, predictor, wanted.runs, wanted.server_runs)
    if "replays" in parts:
        replays(session, recordings, predictor, wanted.strategies.split(","), bars)
    keeps_traces = not wanted.quick and wanted.traces == 10 and (wanted.record or not ARCHIVE.exists())
    if keeps_traces:
        recordings.archive()
    if "speed" in parts or "curve" in parts:
        z3 = Z3(session, wanted.z3_limit)
        session.say()
        if "speed" in parts:
            speed_small(session, recordings, predictor, z3, wanted, bars)
            speed_large(session, recordings, predictor, z3, wanted, bars)
        if "curve" in parts:
            curve(session, recordings, predictor, z3, wanted, bars)
    session.say("What is promised")
    session.table(["promise", "measured", ""], bars.rows)
    session.finish(keeps=not wanted.quick)


if __name__ == "__main__":
    main()
