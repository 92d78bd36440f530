"""Checks the gateway and the relay against a client of other authors: `make interop`.

Usage: oblivious.py PAPIR OHTTP-GO

Serves a small database with a gateway behind a relay on this machine. The client in Go then sends
sealed requests, for each of the gateway's keys and in each form, and each response must be the one
that the service gives to the same request without a seal.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from service import PATIENCE_S, build, receive, started

# What the client requests: lists, a long body, one that is missing, and one with a body that is no query.
REQUESTS = [
    ("GET", "/v1/databases"),
    ("GET", "/v1/databases/words"),
    ("GET", "/v1/databases/words/public"),
    ("GET", "/v1/databases/missing"),
    ("POST", "/v1/databases/words/query"),
]

# X-Wing and X25519, as in the registry of key encapsulation mechanisms of HPKE.
KEMS = {0x647A, 0x0020}


@dataclass(frozen=True)
class Response:
    """What a client reports of a response, without what changes from one to the next."""

    status: int
    type: str
    code: str
    digest: str

    @classmethod
    def of(cls, received):
        """Of a whole response. A problem has an id of its own, so its code stands for it."""
        if received.type == "application/problem+json":
            return cls(received.status, received.type, json.loads(received.body)["code"], "")
        return cls(received.status, received.type, "", hashlib.sha256(received.body).hexdigest())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    papir, go = sys.argv[1:]

    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="papir-interop-")))
        database = build(papir, folder)

        serve = [papir, "serve", database, "--listen", "127.0.0.1:0", "--ohttp", str(folder / "ohttp.toml")]
        service = running.enter_context(started(serve))
        relay = running.enter_context(started([papir, "relay", "--listen", "127.0.0.1:0", "--to", service]))

        expected = {request: direct(service, *request) for request in REQUESTS}
        authority = service.removeprefix("http://")
        check_go(go, f"{relay}/{authority}", service, expected)


def direct(service, method, path):
    """The response to a request without a seal."""
    return Response.of(receive(service + path, method))


def check_go(program, relay, service, expected):
    """Keys and requests through the relay, in both forms."""
    lines = "".join(f"{method} {path}\n" for method, path in expected)
    command = [program, relay, relay, service]
    run = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=PATIENCE_S)
    if run.returncode != 0:
        sys.exit(f"the client in Go: {run.stderr}")

    seen = set()
    for line in run.stdout.splitlines():
        found = json.loads(line)
        name = f"key {found['key']} (KEM {found['kem']:#06x}), {found['form']}"
        response = Response(
            found["status"],
            found["type"],
            json.loads(found["problem"])["code"] if found["problem"] else "",
            "" if found["problem"] else found["sha256"],
        )
        compare(name, (found["method"], found["path"]), response, expected)
        seen.add((found["kem"], found["form"], found["method"], found["path"]))

    forms = {"GET": ["whole"], "POST": ["whole", "chunked"]}
    wanted = {(kem, form, *request) for kem in KEMS for request in expected for form in forms[request[0]]}
    if seen != wanted:
        sys.exit(f"Go sent {sorted(seen)}, and not {sorted(wanted)}")
    print(f"Go: {len(run.stdout.splitlines())} requests through the relay, as without a seal")


def compare(client, request, response, expected):
    if response != expected[request]:
        sys.exit(f"{client}: {' '.join(request)} gave {response}, and not {expected[request]}")


if __name__ == "__main__":
    main()
