"""What the benchmark scripts share: building, generating, measuring whole processes, and archiving what was printed.

A process is measured from its start to its end by the clock of this script, and its memory is the peak of its resident set as GNU
time reports it. Asking the kernel from here would do as well for large processes; but what a child of Python reports is never
less than what Python itself had when it started the child, about 15 MB.
"""

import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
GNU_TIME = os.access("/usr/bin/time", os.X_OK) and sys.platform.startswith("linux")
VERDICTS = {0: "holds", 1: "fails", 3: "unknown"}


class Measured:
    """One finished process."""

    def __init__(self, code, seconds, processor, megabytes, output):
        self.code = code
        self.seconds = seconds
        self.processor = processor  # seconds of processor time, which other work on the machine does not lengthen
        self.megabytes = megabytes
        self.output = output

    @property
    def verdict(self):
        return VERDICTS.get(self.code, "stopped" if self.code is None else f"exit {self.code}")


def measure(command, timeout):
    """Runs a command and measures it; after `timeout` seconds it is stopped, and its code is None."""
    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile("r") as peak:
        timed = ["/usr/bin/time", "-f", "%M", "-o", peak.name] if GNU_TIME else []
        start = time.perf_counter()
        process = subprocess.Popen(
            [*timed, *(str(word) for word in command)],
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )
        stopped = threading.Event()

        def stop():
            stopped.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, stop)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
        lines = peak.read().split()
    kilobytes = int(lines[-1]) if lines and lines[-1].isdigit() else usage.ru_maxrss
    processor = usage.ru_utime + usage.ru_stime
    return Measured(None if stopped.is_set() else process.returncode, seconds, processor, kilobytes / 1000, text)


def best_of(count, command, timeout):
    """The fastest of several runs; one is enough when it takes longer than ten seconds."""
    best = None
    for _ in range(count):
        run = measure(command, timeout)
        if best is None or run.seconds < best.seconds:
            best = run
        if run.seconds > 10 or run.code is None:
            break
    return best


def build():
    """Builds the release binary, unless SKEW names one, and gives its path."""
    if "SKEW" in os.environ:
        return Path(os.environ["SKEW"])
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bin", "skew"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "skew"


def build_example(package, example):
    """Builds an example of a library in release mode, unless SKEW_EXAMPLES names a folder that has it, and gives its path."""
    if "SKEW_EXAMPLES" in os.environ:
        return Path(os.environ["SKEW_EXAMPLES"]) / example
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", package, "--example", example], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / example


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout or done.stderr).strip().splitlines()[0]
    except (OSError, IndexError):
        return "not known"


def machine():
    """The size of the machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = "unknown processor"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB memory, {platform.system()} {platform.machine()}"


class Session:
    """One run of a script: a folder for histories, and a report that is printed and archived."""

    def __init__(self, name, example=None):
        """Measures the binary, or where one is given an example, as a pair of its package and its name."""
        self.name = name
        self.lines = []
        self.skew = build() if example is None else build_example(*example)
        given = os.environ.get("SKEW_BENCHMARK_FOLDER")
        self.folder = Path(given) if given else Path(tempfile.mkdtemp(prefix="skew-benchmark-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.temporary = given is None
        self.say(f"{name}: {self.shown(sys.argv)}")
        self.say(f"machine: {machine()}")
        program = first_line([self.skew, "--version"]) if example is None else f"{example[0]}, example {example[1]}"
        self.say(f"versions: {program}, {first_line(['rustc', '--version'])}, "
                 f"commit {first_line(['git', '-C', ROOT, 'rev-parse', '--short', 'HEAD'])}")

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def note(self, line):
        """Progress for whoever waits; not archived."""
        print(line, file=sys.stderr, flush=True)

    def shown(self, command):
        """A command as people would type it, without the folders of this machine."""
        words = [Path(word).name if os.sep in str(word) else str(word) for word in command]
        return " ".join(shlex.quote(word) for word in words)

    def generate(self, file, options):
        """Generates a history once per folder."""
        path = self.folder / file
        command = [self.skew, "generate", *options, "-o", path]
        if not path.exists():
            self.note(f"generating {file}")
            partial = path.with_suffix(".part")
            subprocess.run([str(word) for word in [self.skew, "generate", *options, "-o", partial]],
                           check=True, stdout=subprocess.DEVNULL)
            partial.rename(path)
        self.say(f"$ {self.shown(command)}")
        return path

    def drop(self, path):
        if self.temporary:
            path.unlink(missing_ok=True)

    def table(self, header, rows):
        """Columns as wide as they need, the first to the left, the others to the right."""
        cells = [header, *rows]
        widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
        for row in cells:
            rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
            self.say("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
        self.say()

    def follow(self, command, environment, keeps):
        """Runs a command from the root of the repository to its end, archives the lines that `keeps` wants, and gives its exit code."""
        environment = {**os.environ, **environment}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            (self.say if keeps(line) else self.note)(line.rstrip())
        return process.wait()

    def test(self, package, binary, tests, environment, keeps, threads=1):
        """Runs tests of a package in their long form, shows and archives the lines with one of the words of `keeps`, and gives their exit code."""
        command = ["cargo", "test", "--quiet", "-p", package, "--test", binary, tests, "--", "--nocapture", f"--test-threads={threads}"]
        if "SKEW_TESTS" in os.environ:  # a folder with test binaries that are built
            command = [str(Path(os.environ["SKEW_TESTS"]) / binary), tests, "--nocapture", f"--test-threads={threads}"]
        settings = " ".join(f"{name}={value}" for name, value in environment.items())
        self.say(f"$ {settings} {self.shown(command)}")
        return self.follow(command, environment, lambda line: any(word in line for word in keeps))

    def finish(self, keeps=True):
        if keeps:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{self.name}.txt").write_text("\n".join(self.lines).rstrip() + "\n")
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)


def count(number):
    """1000 as 1k, 1000000 as 1M."""
    if number % 1_000_000 == 0:
        return f"{number // 1_000_000}M"
    return f"{number // 1000}k" if number % 1000 == 0 else str(number)


def speed_options(level, transactions, seed=1, output="plume", **changes):
    """The options of the speed histories."""
    options = {
        "sessions": 50 if transactions > 10_000 else 20,
        "transactions": transactions,
        "events": 8,
        "keys": transactions,
        "reads": 0.5,
    }
    options.update(changes)
    words = ["--level", level]
    for name, value in options.items():
        words += [f"--{name}", value]
    return words + ["--seed", seed, "--format", output]
