"""A real PostgreSQL that is thrown away, for scripts that put it beside the mock; and the clients that both are asked by.

PostgreSQL refuses to be run by root, so root runs it as the user that its package made. It writes to a temporary folder and does not wait
for the disk (fsync, synchronous_commit and full_page_writes are off), because the mock does not either.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from measure import ROOT

CLIENTS = Path(os.environ.get("SKEW_CLIENTS", ROOT / "target" / "clients"))
PYTHON = CLIENTS / "python" / "bin" / "python"
SETTINGS = ["listen_addresses=127.0.0.1", "fsync=off", "synchronous_commit=off", "full_page_writes=off"]


def set_up():
    """Installs the clients, unless they are there."""
    subprocess.run([ROOT / "crates" / "cli" / "tests" / "clients" / "set-up", CLIENTS], check=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def binary(name):
    """A program of the server, which Debian keeps out of the path, run by somebody who is not root."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    words = [str(found[-1]) if found else name]
    return ["runuser", "-u", "postgres", "--", *words] if os.getuid() == 0 else words


class Postgres:
    """A server for the length of a `with` block, with more settings where somebody wants them."""

    def __init__(self, *more):
        self.more = more

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="skew-postgres-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.port = free_port()
        cluster = self.folder / "cluster"
        initdb = [*binary("initdb"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D", cluster]
        subprocess.run(initdb, check=True, cwd=self.folder, stdout=subprocess.DEVNULL)
        settings = [word for setting in [*SETTINGS, *self.more, f"unix_socket_directories={self.folder}"] for word in ("-c", setting)]
        self.process = subprocess.Popen([*binary("postgres"), "-D", cluster, "-p", str(self.port), *settings],
                                        cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if subprocess.run(["psql", "-qXc", "SELECT 1"], env=self.environment(), capture_output=True, check=False).returncode == 0:
                return self
            time.sleep(0.1)
        raise RuntimeError("PostgreSQL does not answer")

    def __exit__(self, *_):
        number = (self.folder / "cluster" / "postmaster.pid").read_text().splitlines()[0]
        os.kill(int(number), signal.SIGINT)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self):
        """The environment that names it to its clients, as `skew serve` names itself."""
        return {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "postgres", "PGDATABASE": "postgres",
                "DATABASE_URL": f"postgresql://postgres@127.0.0.1:{self.port}/postgres", "PYTHONDONTWRITEBYTECODE": "1"}
