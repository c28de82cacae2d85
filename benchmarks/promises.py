#!/usr/bin/env python3
"""What servers promise, held over many transactions of every workload: 20,000 of registers and SmallBank, 2,000 of every other, at each level.

    benchmarks/promises.py                         # ten minutes
    benchmarks/promises.py --transactions 4000     # what CI runs

PostgreSQL keeps read committed, snapshot and serializable; MariaDB loses updates at repeatable read.
"""

import argparse

from measure import Session

KEEPS = [" keeps ", " violates ", "panicked", "test result"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transactions", default="20000", help="of registers and SmallBank; of the others a tenth")
    arguments = parser.parse_args()
    session = Session("promises")
    code = session.test("skew-workload", "servers", "promises", {"SKEW_TRANSACTIONS": arguments.transactions}, KEEPS)
    session.finish(keeps=code == 0 and arguments.transactions == "20000")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
