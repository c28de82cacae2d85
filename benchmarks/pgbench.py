#!/usr/bin/env python3
"""pgbench on PostgreSQL and on the mock in `latest`, in turns: transactions per second in the three query modes, and the ratio.

Each server is filled by pgbench itself. Rounds alternate between the two, so that what else the machine does meets both. The median
of the rounds counts. Where perf is installed, a last run of each mode on the mock is sampled: the parts of the program that its time goes to.
"""

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import time

import sampling
from measure import Session, first_line
from postgresql import Postgres, set_up

MODES = ["simple", "extended", "prepared"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--clients", default="1,4", help="numbers of connections")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--level", default="read-committed")
    return parser.parse_args()


def script(wanted, mode, clients, options):
    """The shell commands of one round on an empty database; the setting up prints nothing."""
    drawn = f"pgbench --client={clients} --time={wanted.seconds} --protocol={mode} {options}"
    return f"pgbench --initialize --quiet --scale={wanted.scale} >/dev/null 2>&1 && {drawn} 2>&1"


def transactions_per_second(command, environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=environment)
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    if not found:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return float(found.group(1))


def sampled(session, wanted, mode, options):
    """The shares of the mock's time in one run of pgbench, once its tables are filled."""
    server = subprocess.Popen([session.skew, "serve", "--level", wanted.level, "--chooser", "latest"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = next(found.group(1) for found in (re.search(r"127\.0\.0\.1:(\d+)", line) for line in server.stdout) if found)
        environment = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "skew", "PGDATABASE": "skew"}
        subprocess.run(["pgbench", "--initialize", "--quiet", "--scale", str(wanted.scale)], env=environment, check=True, capture_output=True)
        load = subprocess.Popen(["pgbench", "--client=4", f"--time={wanted.seconds + 2}", f"--protocol={mode}", *options.split()], env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        shares = sampling.profile(server.pid, wanted.seconds)
        load.wait()
        return dict(shares)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def profiles(session, wanted):
    if not sampling.available():
        return session.say("perf is not installed: no profile")
    kinds = [("tpcb-like", mode, "") for mode in MODES] + [("select-only", mode, "--select-only") for mode in MODES]
    shares = {f"{kind} {mode}": sampled(session, wanted, mode, options) for kind, mode, options in kinds}
    parts = sorted({part for share in shares.values() for part in share}, key=lambda part: -sum(share.get(part, 0) for share in shares.values()))
    rows = [[part, *(f"{share.get(part, 0):.0%}" for share in shares.values())] for part in parts]
    session.table(["share of the mock's time, 4 clients", *shares], rows)


def main():
    wanted = arguments()
    set_up()
    session = Session("pgbench")
    session.say(f"clients: {first_line(['pgbench', '--version'])}; the server is PostgreSQL of the same package, without waiting for the disk")
    session.say(f"$ skew serve --level {wanted.level} --chooser latest -- sh -c "
                f"'pgbench -i -s {wanted.scale}; pgbench -c CLIENTS -T {wanted.seconds} -M MODE'")
    session.say()
    rows = []
    with Postgres() as server:
        for kind, options in [("tpcb-like", ""), ("select-only", "--select-only")]:
            for clients in wanted.clients.split(","):
                for mode in MODES:
                    shell = ["sh", "-c", script(wanted, mode, clients, options)]
                    mock = [session.skew, "serve", "--level", wanted.level, "--chooser", "latest", "--", *shell]
                    real, ours = [], []
                    for _ in range(wanted.rounds):
                        session.note(f"  {kind} {clients} {mode}")
                        real.append(transactions_per_second(shell, server.environment()))
                        ours.append(transactions_per_second(mock, dict(os.environ)))
                    each = (statistics.median(real), statistics.median(ours))
                    rows.append([f"{kind} {clients} {mode}", f"{each[0]:.0f}", f"{each[1]:.0f}", f"{each[1] / each[0]:.2f}"])
    session.table(["transactions per second", "PostgreSQL", "mock", "ratio"], rows)
    profiles(session, wanted)
    session.finish()


if __name__ == "__main__":
    main()
