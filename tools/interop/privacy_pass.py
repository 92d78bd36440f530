"""Checks private tokens against the issuer and the client of other authors: `make interop`.

Usage: privacy_pass.py PAPIR

The other implementation is @cloudflare/privacypass-ts, in the folder privacy-pass. A service of
papir accepts each token of its client once, whether its issuer or papir's has signed it. papir's
client fetches a batch from its issuer, and looks up with the tokens.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from service import DATA, PATIENCE_S, build, receive, started

FOLDER = Path(__file__).resolve().parent / "privacy-pass"

# The host of all servers, which challenges name.
HOST = "127.0.0.1"
LISTEN = ["--listen", f"{HOST}:0"]

# The request that costs a token.
QUERY = "/v1/databases/words/query"

# Tokens that papir's clients fetch at a time; its issuer signs no other number of them.
BATCH = 32


@dataclass(frozen=True)
class Setting:
    """What all checks share: the program, a database, and a client's bearer token for issuers."""

    papir: str
    folder: Path
    database: str
    clients: str
    bearer: str

    @classmethod
    def made(cls, papir, folder):
        clients = folder / "clients.toml"
        add = [papir, "tokens", str(clients), "add", "--name", "typescript"]
        bearer = subprocess.run(add, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        return cls(papir, folder, build(papir, folder), str(clients), bearer)

    def typescript_issuer(self):
        """The issuer of the other implementation."""
        return started(["node", str(FOLDER / "issuer.mjs")], ISSUER_TOKEN=self.bearer)

    def papir_issuer(self):
        """The issuer of papir."""
        files = ["--keys", str(self.folder / "issuer.toml"), "--counts", str(self.folder / "issued.redb")]
        return started([self.papir, "issuer", *LISTEN, *files, "--tokens", self.clients])

    @contextmanager
    def service(self, issuer):
        """A service whose requests cost tokens of an issuer, and which knows the issuer's key."""
        registry = tempfile.mkdtemp(prefix="registry-", dir=self.folder)
        tokens = ["--registry", registry, "--privacy-pass", issuer, "--privacy-pass-origin", HOST]
        with started([self.papir, "serve", self.database, *LISTEN, *tokens]) as service:
            wait_until_ready(service)
            yield service


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)

    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="papir-interop-")))
        setting = Setting.made(sys.argv[1], folder)
        with started([setting.papir, "serve", setting.database, *LISTEN]) as free:
            received = receive(free + QUERY, "POST")
        without = received.status, json.loads(received.body)["code"]

        issuer = running.enter_context(setting.typescript_issuer())
        with setting.service(issuer) as service:
            check_client("the issuer in TypeScript", setting, issuer, service, 1, without)
            check_lookups(setting, issuer, service)

        issuer = running.enter_context(setting.papir_issuer())
        with setting.service(issuer) as service:
            check_client("papir's issuer", setting, issuer, service, 1, without)
            check_client("papir's issuer, in a batch", setting, issuer, service, BATCH, without)


def wait_until_ready(service):
    """Waits until a service has loaded its database, and read the keys of its issuer."""
    end = time.monotonic() + PATIENCE_S
    while receive(f"{service}/readyz").status != 200:
        if time.monotonic() > end:
            sys.exit(f"{service} is not ready after {PATIENCE_S} s")
        time.sleep(0.1)


def check_client(name, setting, issuer, service, count, without):
    """The client in TypeScript spends tokens: each is accepted once, and a changed one is refused.

    `name` tells where the tokens are from. `without` is the status and code of the response that a
    service without tokens gives.
    """
    command = ["node", str(FOLDER / "client.mjs"), issuer, service + QUERY, str(count)]
    environment = {**os.environ, "ISSUER_TOKEN": setting.bearer}
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    if run.returncode != 0:
        sys.exit(f"the client in TypeScript, tokens of {name}: {run.stderr}")

    lines = [json.loads(line) for line in run.stdout.splitlines()]
    found = [line["challenge"] for line in lines if "challenge" in line]
    issuer_name = issuer.removeprefix("http://")
    compare(
        f"{name}, the challenge",
        found,
        [{"tokenType": 2, "issuerName": issuer_name, "originInfo": [HOST], "context": 0}],
    )

    found = [(line["token"], line["status"], line["code"]) for line in lines if "token" in line]
    refused = [("none", 401, "token_needed"), ("changed", 401, "token_invalid")]
    spent = [("fresh", *without), ("again", 401, "token_spent")]
    compare(f"{name}, the responses", found, refused + spent * count)
    print(f"client in TypeScript: each token of {name} is accepted once ({count})")


def check_lookups(setting, issuer, service):
    """papir's client looks up with tokens of the issuer in TypeScript, the second one stored."""
    token = setting.folder / "client.token"
    token.write_text(setting.bearer + "\n", encoding="utf-8")
    state = setting.folder / "state"
    options = ["--issuer", issuer, "--issuer-token", str(token), "--state", str(state)]

    with DATA.open(encoding="utf-8", newline="") as rows:
        known = list(csv.reader(rows))[1:3]
    for key, value in known:
        get = [setting.papir, "get", service, key, *options]
        run = subprocess.run(get, capture_output=True, text=True, timeout=PATIENCE_S)
        if run.returncode != 0:
            sys.exit(f"papir get with tokens of the issuer in TypeScript: {run.stderr}")
        compare(f"the lookup of {key}", run.stdout.strip(), value)
    print(f"papir's client: {len(known)} lookups with tokens of the issuer in TypeScript")


def compare(name, found, expected):
    if found != expected:
        sys.exit(f"{name}: found {found}, and not {expected}")


if __name__ == "__main__":
    main()
