"""Servers and requests that the checks of interoperability share."""

import os
import re
import select
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "demo/data/common-passwords.csv"

# For what takes a moment on an idle machine.
PATIENCE_S = 300

# A body that is no query of any scheme.
BODY = bytes([7]) * 100_000


@dataclass(frozen=True)
class Received:
    """A response of a server."""

    status: int
    type: str
    body: bytes


def build(papir, folder):
    """Builds a small database in a folder. Returns its file, whose name is `words`."""
    database = folder / "words.papir"
    options = ["--key", "password", "--value", "rank", "--scheme", "inspire"]
    command = [papir, "build", str(DATA), *options, "--out", str(database)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return str(database)


@contextmanager
def started(command, **variables):
    """The address of a server, which it prints in its first line. The server is stopped at the end."""
    environment = {**os.environ, "PAPIR_LOG": "warn", **variables}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        readable, _, _ = select.select([server.stdout], [], [], PATIENCE_S)
        found = re.fullmatch(r"listening on (http://\S+)\n", server.stdout.readline() if readable else "")
        if not found:
            raise SystemExit(f"{' '.join(command)} does not listen")
        yield found[1]
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_S)


def receive(url, method="GET"):
    """The response to a request. A POST has `BODY`."""
    headers = {"Content-Type": "application/octet-stream"} if method == "POST" else {}
    body = BODY if method == "POST" else None
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    # Without the proxy of a person's environment.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    try:
        with opener.open(request, timeout=PATIENCE_S) as response:
            return Received(response.status, response.headers["content-type"], response.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return Received(refused.code, refused.headers["content-type"], refused.read())
