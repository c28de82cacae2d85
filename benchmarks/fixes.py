#!/usr/bin/env python3
"""Every fix that `skew analyze` calls verified, on a live PostgreSQL: the run that goes wrong is forced there, as it is and with the fix.

    benchmarks/fixes.py

The test is the one that CI runs; here the wrong fixes of the bugs and the applications are asked about, too.
"""

from measure import Session

KEEPS = [" at postgres:", "findings on a live server", "test result"]


def main():
    session = Session("fixes")
    code = session.test("skew-campaign", "live_fixes", "verified_fixes", {"SKEW_FIXES": "all"}, KEEPS)
    session.finish(keeps=code == 0)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
