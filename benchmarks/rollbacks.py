#!/usr/bin/env python3
"""What transactions cost a server that has seen ten thousand of them roll back, and what the last tests of a suite cost.

One client sends the same transaction again and again; what counts is the processor time of the server for the first and the last
thousand. Then a suite of Django tests, each of which is rolled back as TestCase does it, all in one class and one class each: the processor
time of the server for the first thirty tests and the last thirty. SKEW_CLIENTS names the folder with Django, else that part is left out.
"""

import argparse
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from measure import ROOT, Session
from served import Client, Served, fill

LEVELS = ["read-committed", "read-atomic", "causal", "prefix", "psi", "snapshot", "serializable"]
KINDS = {
    "reads, rolls back": "BEGIN; SELECT balance FROM account WHERE id = 1; ROLLBACK",
    "scans, rolls back": "BEGIN; SELECT sum(balance) FROM account; ROLLBACK",
    "inserts, rolls back": "BEGIN; INSERT INTO account SELECT max(id) + 1, 0 FROM account; SELECT count(*) FROM account; ROLLBACK",
    "fresh keys, rolls back": "BEGIN; INSERT INTO note (text) VALUES ('a'); SELECT count(*) FROM note; ROLLBACK",
    "reads, commits": "BEGIN; SELECT balance FROM account WHERE id = 1; COMMIT",
    "does nothing": "BEGIN; ROLLBACK",
    "fails": "INSERT INTO account VALUES (1, 0)",
}
IDLE = {"beside an idle one": "BEGIN; UPDATE account SET balance = balance + 1 WHERE id = 2; COMMIT"}

SUITE = '''
import os
from pathlib import Path
from django.test import TestCase
from library.models import Reader, Tag, Title

def processor():
    tasks = Path(f"/proc/{os.getppid()}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())

class Case(TestCase):
    def one(self):
        before = processor()
        tag = Tag.objects.create(name="new")
        title = Title.objects.create(name="A title", price=3)
        title.tags.add(tag)
        Reader.objects.create(email="ann@example.org", name="Ann")
        assert Title.objects.filter(tags__name="new").count() == 1
        assert Reader.objects.get(email="ann@example.org").name == "Ann"
        Title.objects.filter(price=3).update(price=4)
        assert list(Title.objects.values_list("price", flat=True)) == [4]
        with open(os.environ["TIMES"], "a") as times:
            print(processor() - before, file=times)
'''


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--transactions", type=int, default=10_000)
    parser.add_argument("--tests", type=int, default=300)
    parser.add_argument("--short", action="store_true", help="only the first kind of transaction")
    return parser.parse_args()


def transactions(session, level, kind, sql, count, idle=False):
    """The processor time of each thousand, and memory after the first and the last of them."""
    session.note(f"  {level}: {kind}")
    with Served(session.skew, "--level", level) as server:
        fill(server.port)
        client = Client(server.port)
        client.query("CREATE TABLE note (id SERIAL PRIMARY KEY, text TEXT)")
        if idle:
            other = Client(server.port, application_name="idle")
            other.query("BEGIN; SELECT balance FROM account WHERE id = 2")
        times, memory = [], []
        for _ in range(count // 1000):
            before = server.processor()
            for _ in range(1000):
                client.query(sql)
            times.append(server.processor() - before)
            memory.append(server.megabytes())
        return [f"{level}: {kind}", f"{times[0]:.2f} ms", f"{times[-1]:.2f} ms", f"{times[-1] / times[0]:.2f}",
                f"{memory[0]:.1f} → {memory[-1]:.1f} MB"]


def suite(wanted, one_class):
    tests = ["".join(f"    def test_{number:03}(self):\n        self.one()\n" for number in range(wanted.tests))]
    head = ["class AllTest(Case):\n"]
    if not one_class:
        tests = [f"    def test_it(self):\n        self.one()\n" for _ in range(wanted.tests)]
        head = [f"class Number{number:03}Test(Case):\n" for number in range(wanted.tests)]
    return textwrap.dedent(SUITE) + "\n".join(line + body for line, body in zip(head, tests))


def django(session, wanted, level, one_class):
    """The processor time of the server for the first and the last tenth of the tests."""
    python = Path(os.environ["SKEW_CLIENTS"]) / "python" / "bin" / "python"
    folder = session.folder / f"django-{level}-{one_class}"
    subprocess.run(["cp", "-r", ROOT / "crates/cli/tests/clients/programs/django_library", folder], check=True)
    for old in (folder / "library").glob("test*.py"):
        old.unlink()
    (folder / "library" / "tests.py").write_text(suite(wanted, one_class))
    times = folder / "times"
    command = [session.skew, "serve", "--level", level, "--chooser", "latest", "--", python, "manage.py", "test", "-v0"]
    done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, "TIMES": str(times)}, capture_output=True, text=True)
    if not times.exists():
        sys.exit(done.stdout + done.stderr)
    each = [int(line) / 1e6 for line in times.read_text().split()]
    tenth = max(len(each) // 10, 1)
    first, last = sum(each[:tenth]) / tenth, sum(each[-tenth:]) / tenth
    kind = "one class" if one_class else "a class each"
    return [f"Django at {level}: {len(each)} tests, {kind}", f"{first:.2f} ms", f"{last:.2f} ms", f"{last / first:.2f}", ""]


def main():
    wanted = arguments()
    session = Session("rollbacks")
    session.say(f"$ skew serve --level LEVEL, and {wanted.transactions} transactions of one client")
    session.say("processor time of the server per transaction in the first and in the last thousand, the ratio, and memory after both;")
    session.say(f"for Django, per test in the first and in the last {wanted.tests // 10}")
    session.say()
    kinds = dict(list(KINDS.items())[:1]) if wanted.short else KINDS
    rows = [transactions(session, level, kind, sql, wanted.transactions) for level in wanted.levels.split(",") for kind, sql in kinds.items()]
    rows += [transactions(session, level, kind, sql, wanted.transactions, True)
             for level in wanted.levels.split(",") for kind, sql in IDLE.items()]
    if "SKEW_CLIENTS" in os.environ:
        rows += [django(session, wanted, level, one_class) for level in ["read-committed", "serializable"] for one_class in (True, False)]
    else:
        session.say("SKEW_CLIENTS is not set: no Django")
    session.table(["level, transaction", "first", "last", "ratio", "memory"], rows)
    session.finish()


if __name__ == "__main__":
    main()
