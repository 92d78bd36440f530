"""Lookups at fixed times: their requests do not depend on what is looked up."""

import asyncio
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypapir

WORDS = {f"word {i}": f"meaning {i}" for i in range(300)}
EVERY = 0.02
"""A time between two requests that is short for tests."""
HANGS = 300
"""Seconds after which a test fails that would wait for ever."""
OWN_HEADERS = {"host", "connection", "content-length", "transfer-encoding"}
"""Headers of one connection, which are not passed on."""


@pytest.fixture
def service(tmp_path: Path) -> Any:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="inspire")
    with pypapir.serve(tmp_path / "words.papir") as service:
        yield service


@dataclass
class Relay:
    """A server in front of a service, which records its requests."""

    url: str = ""
    seen: list[tuple[str, str, list[tuple[str, int]], int]] = field(default_factory=list)
    """Methods and paths, names and lengths of headers, and lengths of bodies."""

    def wait_for(self, count: int) -> None:
        """Waits until there were so many requests."""
        end = time.monotonic() + HANGS
        while len(self.seen) < count:
            assert time.monotonic() < end
            time.sleep(0.005)


@contextmanager
def relay(service: str) -> Iterator[Relay]:
    recorded = Relay()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.pass_on()

        def do_POST(self) -> None:
            self.pass_on()

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            lengths = [(name.lower(), len(value)) for name, value in self.headers.items()]
            recorded.seen.append((self.command, self.path, lengths, len(body)))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in OWN_HEADERS}
            data = body if self.command == "POST" else None
            request = urllib.request.Request(service + self.path, data, headers, method=self.command)
            response: Any
            try:
                response = urllib.request.urlopen(request)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                answer = response.read()
                self.send_response_only(response.status)
                for name, value in response.headers.items():
                    if name.lower() not in OWN_HEADERS:
                        self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    recorded.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield recorded
    finally:
        server.shutdown()
        server.server_close()
        thread.join(HANGS)


def test_each_submitted_lookup_gets_its_value(service: pypapir.Service) -> None:
    with pypapir.schedule(service.url, every=EVERY, batch=2) as words:
        futures = [words.submit(f"word {i}") for i in range(5)]
        assert [future.result(HANGS) for future in futures] == [f"meaning {i}".encode() for i in range(5)]
        assert words.get("absent") is None
        assert words.waiting == 0


def test_coroutines_await_their_values(service: pypapir.Service) -> None:
    async def look_up() -> list[bytes | None]:
        async with await pypapir.aio.schedule(service.url, every=EVERY, batch=2) as words:
            return await asyncio.gather(*(words.get(f"word {i}") for i in range(3)))

    assert asyncio.run(look_up()) == [b"meaning 0", b"meaning 1", b"meaning 2"]


def test_records_are_looked_up_by_index(tmp_path: Path) -> None:
    records = np.random.default_rng(1).integers(0, 256, (500, 32), dtype=np.uint8)
    pypapir.build(records, tmp_path / "records.papir", scheme="simple")
    with (
        pypapir.serve(tmp_path / "records.papir") as service,
        pypapir.schedule(service.url, every=EVERY, batch=2) as scheduled,
    ):
        assert scheduled.get_index(77) == records[77].tobytes()
        with pytest.raises(pypapir.Error) as refused:
            scheduled.submit("word 7")
        assert refused.value.code == "not_keyed"
        with pytest.raises(pypapir.Error) as failed:
            scheduled.get_index(500)
        assert failed.value.code == "index_out_of_range"
        assert scheduled.get_index(0) == records[0].tobytes()


def test_requests_do_not_depend_on_lookups(service: pypapir.Service, tmp_path: Path) -> None:
    def seen(keys: list[str], state: Path) -> Any:
        with relay(service.url) as recorded:
            with pypapir.schedule(recorded.url, every=EVERY, batch=2, state=state) as words:
                futures = [words.submit(key) for key in keys]
                # Three before the first slot.
                recorded.wait_for(3 + 6)
                for future in futures:
                    future.result(HANGS)
            return recorded.seen[: 3 + 6]

    idle = seen([], tmp_path / "idle")
    assert [method for method, *_ in idle] == ["GET"] * 3 + ["POST"] * 6
    assert seen([f"word {i}" for i in range(5)], tmp_path / "burst") == idle
    assert seen(["word 7"] * 3, tmp_path / "repeated") == idle


def test_callbacks_that_take_long_hold_no_request_back(service: pypapir.Service) -> None:
    go_on = threading.Event()

    def hold(_: "Future[bytes | None]") -> None:
        # A future that is done already calls it on this thread.
        if threading.current_thread() is not threading.main_thread():
            go_on.wait(HANGS)

    with pypapir.schedule(service.url, every=EVERY, batch=4) as words:
        try:
            # More than the runtime has threads.
            for i in range(2 * (os.cpu_count() or 1) + 2):
                words.submit(f"word {i}").add_done_callback(hold)
            assert words.submit("word 7").result(HANGS / 10) == b"meaning 7"
        finally:
            go_on.set()


def test_lookups_that_wait_at_the_end_fail(service: pypapir.Service) -> None:
    words = pypapir.schedule(service.url, every=3600, batch=2)
    future: Future[bytes | None] = words.submit("word 7")
    assert words.waiting == 1 and not future.cancel()
    words.close()
    words.close()
    with pytest.raises(pypapir.Error) as failed:
        future.result(HANGS)
    assert failed.value.code == "schedule_closed"
    with pytest.raises(pypapir.Error) as refused:
        words.submit("word 7")
    assert refused.value.code == "closed"


def test_lookups_of_a_request_that_failed_get_its_error(tmp_path: Path) -> None:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="inspire")
    service = pypapir.serve(tmp_path / "words.papir")
    with pypapir.schedule(service.url, every=EVERY, batch=2, patience=0) as words:
        service.close()
        with pytest.raises(pypapir.NetworkError):
            words.get("word 7")


def test_times_and_batches_out_of_bounds_are_refused(service: pypapir.Service) -> None:
    for every, batch in [(0, 2), (1, 0), (1, 1 << 40)]:
        with pytest.raises(pypapir.Error) as refused:
            pypapir.schedule(service.url, every=every, batch=batch)
        assert refused.value.code == "schedule"
    with pytest.raises(ValueError):
        pypapir.schedule(service.url, every=-1, batch=2)
