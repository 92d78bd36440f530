"""Measures what private tokens cost a service and their issuer: `make bench-tokens`.

Usage: token_bench.py [--rounds N] [--seconds S] PAPIR

Serves a small database twice: by one service whose lookups cost tokens of `papir issuer`, and by one whose
lookups are free. `papir load` looks keys up at both alternately, and compares the values with the source. A
token costs the difference of the processor times of a lookup. The services have one core of this machine for
themselves, and everything else the others.

The issuer then signs random numbers in batches as long as those of clients, and each signature is verified.
Alternately with it, the bench of papir-privacy-pass times the private operation of RSA by itself.

Printed figures are medians of all rounds. Needs Linux, `taskset`, cargo and two cores. The exit code is 1 if a
lookup fails, a token is not spent, or a signature is wrong.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import secrets
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from measuring import (
    DATABASE,
    LISTEN,
    LOCALHOST,
    PATIENCE_S,
    Cores,
    Load,
    Server,
    backend,
    build,
    judge,
    machine,
    median_of,
    started,
)

ROOT = Path(__file__).resolve().parent.parent

# The keyed table: so small that a token is a large part of a lookup.
KEYS = 1_000
VALUE_BYTES = 8

# Enough clients that requests wait for each other's writes to disk.
CLIENTS = 16

# The most processor time of the service that a token may cost, in ms.
MOST_TOKEN_MS = 0.1

# Tokens of a client in a day: more than a measurement spends.
DAILY = 100_000_000

# Requests of an issuer (RFC 9578 and draft-ietf-privacypass-batched-tokens). Clients send batches of this size.
DIRECTORY = "/.well-known/private-token-issuer-directory"
BATCH_MEDIA = "application/private-token-generic-batch-request"
BATCH = 32
TOKEN_TYPE = 2
MODULUS_BYTES = 256
EXPONENT = 65537
# The bytes after the modulus in the encoding of a public key.
EXPONENT_BYTES = 5
# A variable-length integer of two bytes begins with this.
TWO_BYTES = 0x4000

# Writes to the disk of the registry, and their length.
WRITES = 50
WRITTEN_BYTES = 4096

# Without the proxy of a person's environment.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Bench:
    """The program, the files of its servers, the cores, and the client's bearer token for the issuer."""

    papir: str
    folder: Path
    cores: Cores
    bearer: str

    @classmethod
    def made(cls, papir, folder, cores):
        add = [papir, "tokens", str(folder / "clients.toml"), "add", "--name", "bench"]
        bearer = subprocess.run(add, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        (folder / "bench.token").write_text(bearer + "\n", encoding="ascii")
        return cls(papir, folder, cores, bearer)

    def issuer(self):
        files = ["--keys", str(self.folder / "issuer.toml"), "--counts", str(self.folder / "issued.redb")]
        clients = ["--tokens", str(self.folder / "clients.toml"), "--daily", str(DAILY)]
        return started(self.cores.beside([self.papir, "issuer", *LISTEN, *files, *clients]))

    def service(self, *options):
        serve = [self.papir, "serve", str(self.folder / DATABASE), *LISTEN, *options]
        return started(self.cores.measuring(serve))

    def priced(self, issuer):
        """A service whose lookups cost tokens of an issuer."""
        registry = ["--registry", str(self.folder / "registry")]
        tokens = ["--privacy-pass", issuer, "--privacy-pass-origin", LOCALHOST]
        return self.service(*registry, *tokens)

    def load(self, service, clients, seconds, issuer):
        """Looks keys up. The client is the same at both services: it has an issuer, and asks it if needed."""
        tokens = ["--issuer", issuer, "--issuer-token", str(self.folder / "bench.token")]
        Load(clients, seconds, tokens).run(self.papir, service, self.folder, self.cores)


def fetch(url):
    """The text of a response with the status 200."""
    with OPENER.open(url, timeout=PATIENCE_S) as response:
        return response.read().decode("utf-8")


def wait_until_ready(service):
    """Waits until a service has loaded its database, and read the keys of its issuer."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            fetch(f"{service.url}/readyz")
            return
        except urllib.error.HTTPError as refused:
            refused.close()
        if time.monotonic() > end:
            sys.exit(f"{service.url} is not ready after {PATIENCE_S} s")
        time.sleep(0.1)


@dataclass(frozen=True)
class Counts:
    """Counters of a service: answered requests, spent tokens, and writes of the registry to disk."""

    requests: int
    tokens: int
    writes: int

    @classmethod
    def of(cls, service):
        text = fetch(f"{service.url}/metrics")
        answered = r'papir_query_requests_total\{[^}]*code="ok"[^}]*\}'
        return cls(
            requests=value_of(answered, text),
            tokens=value_of("papir_tokens_spent_total", text),
            writes=value_of("papir_registry_writes_total", text),
        )

    def since(self, before):
        return Counts(self.requests - before.requests, self.tokens - before.tokens, self.writes - before.writes)


def value_of(pattern, text):
    """The value of a metric; 0 if the service has none."""
    found = re.search(rf"^{pattern} (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


@dataclass(frozen=True)
class Work:
    """The work of a service for some lookups."""

    counts: Counts
    processor_s: float

    @property
    def lookup_ms(self):
        """Processor time of a lookup in ms."""
        return 1e3 * self.processor_s / self.counts.requests

    @property
    def tokens_per_write(self):
        return self.counts.tokens / self.counts.writes


def measure_lookups(bench, service, clients, seconds, issuer):
    """The work of a service for a load, with the few requests before it."""
    before = Counts.of(service)
    begin = service.processor_s()
    bench.load(service.url, clients, seconds, issuer)
    used = service.processor_s() - begin
    return Work(Counts.of(service).since(before), used)


def measure_priced(bench, service, clients, seconds, issuer):
    """The same for a service whose lookups cost tokens."""
    work = measure_lookups(bench, service, clients, seconds, issuer)
    counts = work.counts
    if counts.tokens < counts.requests or not counts.writes:
        sys.exit(f"{counts}: expected a token for each request, and writes")
    return work


@dataclass(frozen=True)
class PublicKey:
    """The key of an issuer."""

    modulus: int
    # The last byte of its id, which requests carry.
    truncated_id: int

    @classmethod
    def of(cls, issuer):
        """The key of a new issuer, which has one."""
        directory = json.loads(fetch(issuer.url + DIRECTORY))
        encoded = directory["token-keys"][0]["token-key"]
        spki = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        modulus = spki[-MODULUS_BYTES - EXPONENT_BYTES : -EXPONENT_BYTES]
        return cls(int.from_bytes(modulus, "big"), hashlib.sha256(spki).digest()[-1])


def sign_batch(connection, bearer, key):
    """Has an issuer sign random numbers, which stand for blinded tokens, and verifies the signatures."""
    numbers = [secrets.randbelow(key.modulus) for _ in range(BATCH)]
    head = struct.pack(">HB", TOKEN_TYPE, key.truncated_id)
    requests = b"".join(head + number.to_bytes(MODULUS_BYTES, "big") for number in numbers)
    length = struct.pack(">H", TWO_BYTES | len(requests))

    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": BATCH_MEDIA}
    connection.request("POST", "/token-request", length + requests, headers)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        sys.exit(f"the issuer: HTTP {response.status}, {body.decode('utf-8', 'replace')}")

    # After the length, each response has its presence and the type of the token before the signature.
    element = 1 + 2 + MODULUS_BYTES
    signed = body[len(length) :]
    if len(signed) != BATCH * element:
        sys.exit(f"the issuer: {len(signed)} bytes of responses, expected {BATCH * element}")
    for place, number in enumerate(numbers):
        signature = int.from_bytes(signed[place * element + 3 : (place + 1) * element], "big")
        if pow(signature, EXPONENT, key.modulus) != number:
            sys.exit("the issuer: a signature does not verify")


def signing_us(issuer, bearer, key, seconds):
    """Processor time of the issuer for a token, in µs."""
    connection = HTTPConnection(issuer.url.removeprefix("http://"), timeout=PATIENCE_S)
    begin = issuer.processor_s()
    end = time.monotonic() + seconds
    tokens = 0
    while time.monotonic() < end:
        sign_batch(connection, bearer, key)
        tokens += BATCH
    connection.close()
    return 1e6 * (issuer.processor_s() - begin) / tokens


@dataclass(frozen=True)
class Operations:
    """Times of operations with a private key, in µs, as the bench of papir-privacy-pass names them."""

    raw: float
    protected: float
    token: float

    @classmethod
    def measured(cls, cores):
        cargo = shlex.split(os.environ.get("CARGO", "cargo"))
        command = [*cargo, "bench", "--locked", "--quiet", "-p", "papir-privacy-pass", "--bench", "issue"]
        run = subprocess.run(cores.measuring(command), cwd=ROOT, check=True, stdout=subprocess.PIPE)
        found = re.findall(r"^(\w+) +([\d.]+) µs$", run.stdout.decode("utf-8"), re.MULTILINE)
        return cls(**{name: float(time_us) for name, time_us in found})


@dataclass(frozen=True)
class Round:
    """Processor times of the service for a lookup in ms, of the issuer for a token in µs, and writes."""

    free_ms: float
    priced_ms: float
    token_ms: float
    many_free_ms: float
    many_priced_ms: float
    many_token_ms: float
    tokens_per_write: float
    many_tokens_per_write: float
    issuer_us: float
    signing_us: float
    protected_us: float
    raw_us: float
    # The time of the issuer for a token, as a multiple of the protected operation.
    issuer_ratio: float


@dataclass(frozen=True)
class Servers:
    """The measured servers."""

    free: Server
    priced: Server
    issuer: Server


def measure_round(bench, servers, key, seconds):
    """One round: lookups of one client and of many, then the issuer and the private operation."""
    issuer = servers.issuer
    free = measure_lookups(bench, servers.free, 1, seconds, issuer.url)
    priced = measure_priced(bench, servers.priced, 1, seconds, issuer.url)
    many_free = measure_lookups(bench, servers.free, CLIENTS, seconds, issuer.url)
    many_priced = measure_priced(bench, servers.priced, CLIENTS, seconds, issuer.url)
    issuer_us = signing_us(issuer, bench.bearer, key, seconds)
    operations = Operations.measured(bench.cores)

    return Round(
        free_ms=free.lookup_ms,
        priced_ms=priced.lookup_ms,
        token_ms=priced.lookup_ms - free.lookup_ms,
        many_free_ms=many_free.lookup_ms,
        many_priced_ms=many_priced.lookup_ms,
        many_token_ms=many_priced.lookup_ms - many_free.lookup_ms,
        tokens_per_write=priced.tokens_per_write,
        many_tokens_per_write=many_priced.tokens_per_write,
        issuer_us=issuer_us,
        signing_us=operations.token,
        protected_us=operations.protected,
        raw_us=operations.raw,
        issuer_ratio=issuer_us / operations.protected,
    )


def write_ms(folder):
    """The median time of a write to the disk of a folder, until it is durable."""
    times = []
    with (folder / "written").open("wb", buffering=0) as file:
        for _ in range(WRITES):
            file.write(bytes(WRITTEN_BYTES))
            begin = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def memory_folder():
    """A folder in memory, if there is one: a client's writes of its tokens would delay its requests."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="papir-bench-", dir=memory if memory.is_dir() else None)


def main():
    arguments = argparse.ArgumentParser(description="Measures what private tokens cost a service and their issuer.")
    arguments.add_argument("papir", help="the program")
    arguments.add_argument("--rounds", type=int, default=5, help="alternating measurements [default: 5]")
    arguments.add_argument("--seconds", type=int, default=4, help="duration of each measurement [default: 4]")
    given = arguments.parse_args()

    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="papir-bench-")))
        # The client's state, with its tokens.
        os.environ["XDG_DATA_HOME"] = running.enter_context(memory_folder())
        bench = Bench.made(given.papir, folder, Cores.of_this_machine())
        print(machine(bench.cores, "the services"))
        print(build(bench.papir, folder, KEYS, VALUE_BYTES, ["--scheme", "inspire"]))
        print(backend(bench.papir, folder))
        print(f"disk            {write_ms(folder):.3f} ms for a durable write of {WRITTEN_BYTES} bytes")

        issuer = running.enter_context(bench.issuer())
        free = running.enter_context(bench.service())
        priced = running.enter_context(bench.priced(issuer.url))
        servers = Servers(free, priced, issuer)
        wait_until_ready(free)
        wait_until_ready(priced)

        key = PublicKey.of(issuer)
        rounds = [measure_round(bench, servers, key, given.seconds) for _ in range(given.rounds)]

    report(median_of(rounds), len(rounds))


def report(median, rounds):
    print(f"medians of {rounds} rounds, of processor time")
    print(f"one client      {median.free_ms:.3f} ms for a free lookup, {median.priced_ms:.3f} with a token")
    judge("token", median.token_ms, MOST_TOKEN_MS, "ms")
    print(
        f"{CLIENTS} clients      {median.many_free_ms:.3f} ms for a free lookup, "
        f"{median.many_priced_ms:.3f} with a token"
    )
    judge(f"token, {CLIENTS}", median.many_token_ms, MOST_TOKEN_MS, "ms")
    print(
        f"writes          {median.many_tokens_per_write:.2f} tokens in a write to disk with {CLIENTS} clients, "
        f"{median.tokens_per_write:.2f} with one"
    )

    print(f"issuer          {1e6 / median.issuer_us:.0f} tokens/s of a core, {median.issuer_us:.0f} µs for each")
    print(
        f"RSA, 2048 bits  {median.raw_us:.0f} µs for the raw private operation, {median.protected_us:.0f} blinded and "
        f"checked, {median.signing_us:.0f} for a token"
    )
    print(f"ratio           a token of the issuer takes {median.issuer_ratio:.3f} × the blinded and checked operation")


if __name__ == "__main__":
    main()
