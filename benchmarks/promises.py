#!/usr/bin/env python3
"""What servers promise, held over many transactions of every workload: 20,000 of registers and SmallBank, 2,000 of every other, at each level.

    benchmarks/promises.py                         # ten minutes
    benchmarks/promises.py --transactions 4000     # what CI runs

PostgreSQL keeps read committed, snapshot and serializable; MariaDB loses updates at repeatable read.
"""

import argparse
import re
import sys

from measure import Session

COMMAND = ["cargo", "test", "--quiet", "-p", "skew-workload", "--test", "servers", "promises", "--", "--nocapture", "--test-threads=1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", default="20000", help="of registers and SmallBank; of the others a tenth")
    arguments = parser.parse_args()
    session = Session("promises")
    session.say(f"$ SKEW_TRANSACTIONS={arguments.transactions} {' '.join(COMMAND)}")
    kept = re.compile(r" keeps | violates |panicked|^test result")
    code = session.follow(COMMAND, {"SKEW_TRANSACTIONS": arguments.transactions}, kept.search)
    session.finish(keeps=code == 0 and arguments.transactions == "20000")
    sys.exit(code)


if __name__ == "__main__":
    main()
