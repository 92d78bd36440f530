"""Measures lookups through a relay against direct ones: `make bench-relay`.

Usage: relay_bench.py [--rounds N] [--seconds S] PAPIR

Serves a database whose answers have about 64 KiB, with a gateway behind a relay. The relay has one
core of this machine for itself, and everything else the others. `papir load` looks keys up, and
compares the values with the source. Direct and relayed measurements alternate; the printed figures
are medians of all rounds. Needs Linux, `taskset` and two cores. The exit code is 1 if a lookup fails.
"""

import argparse
import multiprocessing
import os
import selectors
import socket
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from measuring import (
    DATABASE,
    LISTEN,
    LOCALHOST,
    PATIENCE_S,
    Cores,
    Load,
    backend,
    build,
    judge,
    machine,
    median_of,
    started,
)

# The keyed table. With buckets of this length an answer of `inspire` has six ring elements, each of
# 12 KB.
KEYS = 20_000
VALUE_BYTES = 32
BUCKET_BYTES = 22_016
# Bounds of an answer of about 64 KiB, in bytes.
ANSWER_BYTES = range(60_000, 76_000)

# Enough clients that the relay always has a request.
CLIENTS = 16

# Round trips of the echo in one round. The first ones are not counted.
ECHOES = 400
WARM_UP = 50

# The most that a relayed lookup may take and send, and the least that a core of the relay forwards.
MOST_TIME = 1.15
MOST_BYTES = 1.05
LEAST_FORWARDED = 200


@dataclass(frozen=True)
class Exchange:
    """A request and its response on the wire, in bytes, with their heads."""

    sent: int
    received: int

    @property
    def total(self):
        return self.sent + self.received


@dataclass
class Counter:
    """Forwards connections to a server, and counts the bytes of each exchange of HTTP/1.1."""

    target: str
    exchanges: list[Exchange] = field(default_factory=list)

    @contextmanager
    def listening(self):
        """The address at which it listens."""
        with socket.create_server((LOCALHOST, 0)) as listener:
            threading.Thread(target=self.accept, args=[listener], daemon=True).start()
            try:
                yield f"http://{LOCALHOST}:{listener.getsockname()[1]}"
            finally:
                # Ends the thread that waits for connections.
                listener.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=[client], daemon=True).start()

    def carry(self, client):
        """Forwards both directions of a connection until one side closes it."""
        host, _, port = self.target.removeprefix("http://").rpartition(":")
        with ExitStack() as open_until_end:
            open_until_end.enter_context(suppress(ConnectionError))
            open_until_end.enter_context(client)
            server = open_until_end.enter_context(socket.create_connection((host, int(port))))
            ready = open_until_end.enter_context(selectors.DefaultSelector())
            ready.register(client, selectors.EVENT_READ)
            ready.register(server, selectors.EVENT_READ)
            sent = received = 0

            while True:
                for key, _ in ready.select():
                    from_client = key.fileobj is client
                    data = key.fileobj.recv(1 << 16)
                    # Bytes of the client after bytes of the server begin another exchange.
                    if received and (from_client or not data):
                        self.exchanges.append(Exchange(sent, received))
                        sent = received = 0
                    if not data:
                        return

                    (server if from_client else client).sendall(data)
                    sent += len(data) if from_client else 0
                    received += 0 if from_client else len(data)

    def lookup(self):
        """The median of the exchanges with lookups, which are those of about the largest length."""
        largest = max(exchange.total for exchange in self.exchanges)
        lookups = [exchange for exchange in self.exchanges if 2 * exchange.total >= largest]
        return Exchange(
            round(statistics.median(exchange.sent for exchange in lookups)),
            round(statistics.median(exchange.received for exchange in lookups)),
        )


@dataclass(frozen=True)
class Bench:
    """The program, the files of its database, and the cores."""

    papir: str
    folder: Path
    cores: Cores

    def build(self):
        """Builds the database. Returns its description by `papir build`."""
        shape = ["--scheme", "inspire", "--bucket-bytes", str(BUCKET_BYTES)]
        return build(self.papir, self.folder, KEYS, VALUE_BYTES, shape)

    def service(self):
        gateway = ["--ohttp", str(self.folder / "ohttp.toml")]
        serve = [self.papir, "serve", str(self.folder / DATABASE), *LISTEN, *gateway]
        return started(self.cores.beside(serve))

    def relay(self, service):
        """A relay on a core of its own, to the service at an address."""
        return started(self.cores.measuring([self.papir, "relay", *LISTEN, "--to", service]))

    def load(self, service, seconds, clients, relay=None):
        """The report of lookups at a service, directly or through a relay."""
        load = Load(clients, seconds, ["--relay", relay] if relay else [])
        return load.run(self.papir, service, self.folder, self.cores)


@dataclass(frozen=True)
class Lengths:
    """Bytes of a lookup on each connection."""

    direct: Exchange
    to_relay: Exchange
    to_gateway: Exchange


def measure_lengths(bench, service):
    """Counts the bytes of lookups on the wire, directly and on both sides of a relay."""
    direct, to_relay, to_gateway = Counter(service.url), Counter(""), Counter(service.url)
    with ExitStack() as running:
        bench.load(running.enter_context(direct.listening()), 1, 1)

        gateway = running.enter_context(to_gateway.listening())
        to_relay.target = running.enter_context(bench.relay(gateway)).url
        relay = running.enter_context(to_relay.listening())
        bench.load(gateway, 1, 1, relay)
    return Lengths(direct.lookup(), to_relay.lookup(), to_gateway.lookup())


def echo(port, core, exchange):
    """Answers requests of one length with bytes of another, on a core, for one connection."""
    os.sched_setaffinity(0, [core])
    with socket.create_server((LOCALHOST, 0)) as listener:
        port.value = listener.getsockname()[1]
        client, _ = listener.accept()

    response = bytes(exchange.received)
    with client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while receive(client, exchange.sent):
            client.sendall(response)


def receive(connection, length):
    """Reads a message. Returns false if the connection has ended before."""
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            return False
        length -= len(part)
    return True


def hop_s(cores, exchange):
    """Median time of one hop over loopback, to an echo of a lookup's bytes on the relay's core."""
    # Not by a fork, since this process has threads.
    spawn = multiprocessing.get_context("spawn")
    port = spawn.Value("i", 0)
    server = spawn.Process(target=echo, args=[port, cores.measured, exchange], daemon=True)
    server.start()
    end = time.monotonic() + PATIENCE_S
    while port.value == 0:
        if time.monotonic() > end:
            sys.exit("the echo does not listen")
        time.sleep(0.001)

    request = bytes(exchange.sent)
    times = []
    with socket.create_connection((LOCALHOST, port.value)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(ECHOES):
            begin = time.perf_counter()
            connection.sendall(request)
            receive(connection, exchange.received)
            times.append(time.perf_counter() - begin)
    server.join(PATIENCE_S)
    return statistics.median(times[WARM_UP:])


@dataclass(frozen=True)
class Round:
    """Times of one lookup in ms; lookups per second of many clients; the relay's work for them."""

    direct_ms: float
    relayed_ms: float
    hop_ms: float
    direct_per_s: float
    relayed_per_s: float
    # The share of its core that the relay was busy, and its processor time for one lookup.
    busy: float
    relay_ms: float


def measure_round(bench, service, relay, lengths, seconds):
    """One round of direct and relayed lookups, one at a time and then of many clients."""
    direct = bench.load(service.url, seconds, 1)
    relayed = bench.load(service.url, seconds, 1, relay.url)
    hop = hop_s(bench.cores, lengths.direct)

    direct_many = bench.load(service.url, seconds, CLIENTS)
    # With the few requests before the load, of which its report does not count the lookups.
    before = relay.processor_s()
    relayed_many = bench.load(service.url, seconds, CLIENTS, relay.url)
    used = relay.processor_s() - before

    return Round(
        direct_ms=direct["lookup_ms"]["p50"],
        relayed_ms=relayed["lookup_ms"]["p50"],
        hop_ms=1e3 * hop,
        direct_per_s=direct_many["lookups_per_second"],
        relayed_per_s=relayed_many["lookups_per_second"],
        busy=used / relayed_many["seconds"],
        relay_ms=1e3 * used / relayed_many["lookups"],
    )


def main():
    arguments = argparse.ArgumentParser(description="Measures lookups through a relay against direct ones.")
    arguments.add_argument("papir", help="the program")
    arguments.add_argument("--rounds", type=int, default=5, help="alternating measurements [default: 5]")
    arguments.add_argument("--seconds", type=int, default=4, help="duration of each measurement [default: 4]")
    given = arguments.parse_args()

    cores = Cores.of_this_machine()
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="papir-bench-")))
        bench = Bench(given.papir, folder, cores)
        print(machine(cores, "the relay"))
        print(bench.build())
        print(backend(bench.papir, folder))
        service = running.enter_context(bench.service())
        relay = running.enter_context(bench.relay(service.url))

        lengths = measure_lengths(bench, service)
        if lengths.direct.received not in ANSWER_BYTES:
            sys.exit(f"an answer of {lengths.direct.received} bytes: expected about 64 KiB")
        rounds = [measure_round(bench, service, relay, lengths, given.seconds) for _ in range(given.rounds)]

    report_lengths(lengths)
    report_times(median_of(rounds), len(rounds))


def report_lengths(lengths):
    for name, exchange in [
        ("direct", lengths.direct),
        ("to the relay", lengths.to_relay),
        ("to the gateway", lengths.to_gateway),
    ]:
        print(f"{name:15} {exchange.sent:,} bytes sent, {exchange.received:,} received")
    judge("bytes", lengths.to_relay.total / lengths.direct.total, MOST_BYTES, "× direct")


def report_times(median, rounds):
    allowed = MOST_TIME + 2 * median.hop_ms / median.direct_ms
    print(f"medians of {rounds} rounds")
    print(f"one lookup      {median.direct_ms:.2f} ms direct, {median.relayed_ms:.2f} ms relayed")
    print(f"hop             {median.hop_ms:.3f} ms over loopback with the bytes of a direct lookup")
    judge("time", median.relayed_ms / median.direct_ms, allowed, "× direct")

    print(f"{CLIENTS} clients      {median.direct_per_s:.0f} lookups/s direct, {median.relayed_per_s:.0f} relayed")
    print(f"relay           {median.relay_ms:.2f} ms of its core for a lookup, busy {median.busy:.0%}")
    # With a busy service the relay waits, and its processor time shows what the core could forward.
    forwarded = 1e3 / median.relay_ms
    if median.relayed_per_s >= LEAST_FORWARDED:
        verdict = "met"
    elif forwarded >= LEAST_FORWARDED:
        verdict = "met by the relay's processor time, but the service and the clients were slower"
    else:
        verdict = "missed"
    print(f"relayed         {forwarded:.0f} lookups/s of a busy core: expected {LEAST_FORWARDED}, {verdict}")


if __name__ == "__main__":
    main()
