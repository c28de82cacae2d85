#!/usr/bin/env python3
"""Every counterexample of the programs under `examples/`, made once more on real servers.

    benchmarks/confirm.py                  # on servers that it starts: some minutes
    benchmarks/confirm.py --level pg:rc
    benchmarks/confirm.py --command play   # what a hundred runs by chance meet, at the serializable levels, too

Each program is explored at both read committeds, PostgreSQL's repeatable read and MariaDB's repeatable read; the counterexample of every
assertion that fails is forced on PostgreSQL or MariaDB, statement by statement, and every answer is compared, and so is the assertion.
"""

import argparse
import json
import subprocess

from measure import ROOT, Session

LEVELS = ["pg:rc", "pg:rr", "mysql:rc", "mysql:rr"]
PLAYED = [*LEVELS, "pg:ser", "mysql:ser"]


def programs(engine):
    """Those that name no engine, or this one."""
    found = sorted((ROOT / "examples" / "bugs").glob("*/*.sql")) + sorted((ROOT / "examples" / "applications").glob("*.sql"))
    found += sorted((ROOT / "examples").glob("*.sql"))
    dialects = [path.read_text().partition("\n")[0].partition("-- dialect: ")[2] for path in found]
    return [str(path.relative_to(ROOT)) for path, dialect in zip(found, dialects) if dialect in ("", engine)]


def explore(skew, program, level, url):
    limits = ["--budget", "20000", "--timeout", "60s"]
    command = [str(skew), "explore", program, "--level", level, *limits, "--confirm", url, "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        return None, done.stderr.strip().splitlines()
    return json.loads(done.stdout), []


def play(skew, program, level, url):
    """The same for `skew play`, told as `explore` tells it: its assertions, and the first run of each anomaly."""
    command = [str(skew), "play", program, "--level", level, "--confirm", url, "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        return None, done.stderr.strip().splitlines()
    report = json.loads(done.stdout)
    anomalies = [{**one, "name": one["anomaly"], "violations": one["runs"]} for one in report["anomalies"]]
    return {"levels": [{"assertions": report["assertions"] + anomalies}]}, []


def servers(skew):
    """Throw-away servers, as `skew up` starts them, and where they are."""
    started = {}
    for kind in ("postgres", "mariadb"):
        process = subprocess.Popen([str(skew), "up", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "://" in line:
                started[kind] = (process, next(word for word in line.split() if "://" in word))
                break
    return started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", action="append", help="one of " + ", ".join(PLAYED))
    parser.add_argument("--command", choices=["explore", "play"], default="explore")
    arguments = parser.parse_args()
    session = Session("confirm" if arguments.command == "explore" else "confirm-play")
    run, levels = (explore, LEVELS) if arguments.command == "explore" else (play, PLAYED)
    started = servers(session.skew)
    counts = {"confirmed": 0, "differs": 0, "untried": 0}
    try:
        for level in arguments.level or levels:
            process_and_url = started["postgres" if level.startswith("pg") else "mariadb"]
            for program in programs("postgres" if level.startswith("pg") else "mysql"):
                report, errors = run(session.skew, program, level, process_and_url[1])
                if report is None:
                    session.say(f"{level:9} {program}: not explored: {' '.join(errors[:2])}")
                    continue
                tell(session, program, level, report, counts)
    finally:
        for process, _ in started.values():
            process.terminate()
            process.wait()
    session.say(", ".join(f"{count} {word}" for word, count in counts.items()))
    session.finish(keeps=arguments.level is None)


def tell(session, program, level, report, counts):
    for assertion in report["levels"][0]["assertions"]:
        if not assertion["violations"]:
            continue
        confirmed = assertion["confirmed"] or {"verdict": "untried", "server": "", "why": "it has no text", "differences": []}
        counts[confirmed["verdict"]] += 1
        session.say(f"{level:9} {program}: {assertion['name']}: {confirmed['verdict']} {confirmed['why'] or ''}".rstrip())
        for one in confirmed["differences"]:
            session.say(f"          {one['session']}: {one['sql']}: {one['answered']}; expected: {one['expected']}")


if __name__ == "__main__":
    main()
