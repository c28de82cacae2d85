"""Where a running `skew` spends its time, by part of the program: samples of Linux' perf, each counted for the innermost part on its stack."""

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

# The first that matches a frame names the part; frames that match none are looked through towards the caller.
PARTS = [
    ("parsing SQL", r"sqlparser|skew_sql::syntax"),
    ("binding and planning", r"skew_sql::(bind|plan|session::prepare|virtual_tables)"),
    ("executing SQL", r"skew_sql::"),
    ("which versions a read may return", r"skew_check::growing"),
    ("the history's file", r"skew_mockdb::record|skew_history::"),
    ("the store", r"skew_mockdb::(store|statement|rows|scan|keys|versions|lock|transaction|chooser|log|view)"),
    ("connections and catalog", r"skew_mockdb::(connection|database|shared|settings|advisory)"),
    ("the protocol", r"skew_mockdb::wire"),
    ("tokio, threads, sockets", r"tokio|mio::|std::thread|start_thread|epoll|futex"),
]


def available():
    return shutil.which("perf") is not None


def profile(process, seconds):
    """Shares of the CPU time of a process, largest first."""
    with tempfile.TemporaryDirectory(prefix="skew-profile-") as folder:
        file = Path(folder) / "perf.data"
        record = ["perf", "record", "-q", "-g", "--call-graph", "dwarf,16384", "-F", "199", "-o", file, "-p", str(process), "--", "sleep", str(seconds)]
        subprocess.run(record, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        script = subprocess.run(["perf", "script", "-i", file, "-F", "ip,sym"], capture_output=True, text=True, check=True).stdout
    stacks = [stack.splitlines() for stack in script.split("\n\n") if stack.strip()]
    counts = Counter(part(stack) for stack in stacks)
    return [(name, count / len(stacks)) for name, count in counts.most_common()]


def part(stack):
    for frame in stack:
        for name, pattern in PARTS:
            if re.search(pattern, frame):
                return name
    return "other"
