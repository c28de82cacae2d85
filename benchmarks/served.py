"""A mock database that is served, as scripts see it: its processor time and memory, and a client that speaks just enough of the protocol."""

import os
import re
import signal
import socket
import struct
import subprocess
from pathlib import Path


class Served:
    """`skew serve`, until the end of a with block."""

    def __init__(self, skew, *options):
        self.process = subprocess.Popen([str(skew), "serve", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = (re.search(r"127\.0\.0\.1:(\d+)", line) for line in self.process.stdout)
        self.port = int(next(found.group(1) for found in lines if found))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()

    def processor(self):
        return processor(self.process.pid)

    def megabytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1000

    def environment(self):
        return {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "skew", "PGDATABASE": "skew"}


def processor(pid):
    """Seconds of processor time, of all threads."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


class Client:
    """One connection; answers are the letters and bodies of messages."""

    def __init__(self, port, **settings):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming = b""
        pairs = {"user": "skew", **settings}
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in pairs.items()) + b"\0"
        self.socket.sendall(struct.pack("!ii", len(body) + 8, 196608) + body)
        self.until_ready()

    def send(self, sql):
        body = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)

    def until_ready(self):
        heard = []
        while True:
            while len(self.incoming) >= 5 and len(self.incoming) > (length := struct.unpack("!i", self.incoming[1:5])[0]):
                heard.append((chr(self.incoming[0]), self.incoming[5:length + 1]))
                self.incoming = self.incoming[length + 1:]
                if heard[-1][0] == "Z":
                    return heard
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server has gone")
            self.incoming += more

    def query(self, sql):
        self.send(sql)
        return self.until_ready()

    def close(self):
        self.socket.close()


def fill(port, rows=10):
    """A table of some accounts."""
    client = Client(port)
    client.query("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)")
    client.query(f"INSERT INTO account SELECT n, 100 FROM generate_series(1, {rows}) n")
    client.close()
