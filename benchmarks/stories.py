#!/usr/bin/env python3
"""The stories under `examples/`: in how many runs the mock shows the bug, in how many a real PostgreSQL does, what the fixes change.

A run on the mock is a process of its own with a seed of its own. On PostgreSQL one process repeats the test, with the calls in
turn and in threads that start together; it is asked at its default, read committed.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from measure import ROOT, Session, first_line
from postgresql import PYTHON, Postgres, set_up

CART = ROOT / "examples" / "shopping-cart"
SHOP = ROOT / "examples" / "coupon-shop"
PYTEST = ["pytest", "-q", "-p", "no:cacheprovider"]
DJANGO = ["python", "manage.py", "test", "-v0"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cart-runs", type=int, default=1000)
    parser.add_argument("--server-runs", type=int, default=1000, help="of the cart, on PostgreSQL")
    parser.add_argument("--shop-runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def environment(base=None, **more):
    base = dict(base or os.environ)
    path = f"{PYTHON.parent}{os.pathsep}{base['PATH']}"
    return {**base, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(Path(__file__).resolve().parent), **more}


def served(session, folder, level, runs, jobs, command, **more):
    """Failing runs on the mock, and the kind of anomaly that the summary names."""
    words = [session.skew, "serve", "--level", level, "--runs", runs, "--jobs", jobs, "--", *command]
    session.note("  " + session.shown(words))
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment(**more), capture_output=True, text=True, check=False)
    if re.search(r"passes( in every run)?$", done.stdout, re.MULTILINE):
        return 0, "-"
    failed = re.search(r"fails\s+in (\d+) run", done.stdout)
    if not failed:
        sys.exit(f"{session.shown(words)}\n{done.stdout}\n{done.stderr}")
    kinds = sorted(set(re.findall(r"^    seed \d+: exit code \d+; (.*)$", done.stdout, re.MULTILINE)))
    return int(failed.group(1)), ", ".join(kinds)


def repeated(server, runs, threads):
    """Failures of the cart's test on PostgreSQL."""
    words = [*PYTEST, "-p", "repeat", "--tb=no"]
    given = environment(server.environment(), REPEAT=str(runs), CART_THREADS="1" if threads else "0")
    done = subprocess.run(words, cwd=CART, env=given, capture_output=True, text=True, check=False)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed)", done.stdout)}
    if sum(counts.values()) != runs:
        sys.exit(f"{' '.join(words)}\n{done.stdout}\n{done.stderr}")
    return counts.get("failed", 0)


def cart(session, wanted):
    failed, kinds = served(session, CART, "causal", wanted.cart_runs, wanted.jobs, PYTEST)
    rows = [["mock at causal, in turn", str(wanted.cart_runs), str(failed), f"{wanted.cart_runs / failed:.1f}" if failed else "-", kinds]]
    with Postgres() as server:
        for how, threads in [("in turn", False), ("in threads", True)]:
            session.note(f"  PostgreSQL {how}")
            failed = repeated(server, wanted.server_runs, threads)
            mean = f"{wanted.server_runs / failed:.1f}" if failed else "-"
            rows.append([f"PostgreSQL at read committed, {how}", str(wanted.server_runs), str(failed), mean, ""])
    session.say(f"$ cd examples/shopping-cart && skew serve --level causal --runs {wanted.cart_runs} -- {' '.join(PYTEST)}")
    session.table(["a deleted lamp comes back", "runs", "failed", "runs per failure", "anomaly"], rows)


def shop(session, wanted):
    rows = []
    for way in ["buggy", "wrong-fix", "right-fix"]:
        for level in ["read-committed", "snapshot", "serializable"]:
            failed, kinds = served(session, SHOP, level, wanted.shop_runs, wanted.jobs, DJANGO, SHOP_WAY=way)
            rows.append([f"{way} at {level}", str(wanted.shop_runs), str(failed), kinds])
    session.say(f"$ cd examples/coupon-shop && SHOP_WAY=… skew serve --level … --runs {wanted.shop_runs} -- {' '.join(DJANGO)}")
    session.table(["a voucher is used twice", "runs", "failed", "anomaly"], rows)


def main():
    wanted = arguments()
    set_up()
    session = Session("stories")
    session.say(f"others: {first_line([PYTHON, '--version'])}, {first_line(['psql', '--version'])}")
    session.say()
    cart(session, wanted)
    shop(session, wanted)
    session.finish()


if __name__ == "__main__":
    main()
