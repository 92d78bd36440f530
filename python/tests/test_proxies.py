"""Lookups through a proxy that alone knows the service's name."""

import asyncio
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import pypapir

HOST = "papir.invalid"


class Handler(socketserver.StreamRequestHandler):
    """One connection by SOCKS5 to `HOST`, which is relayed to the service."""

    server: "Proxy"

    def handle(self) -> None:
        self.rfile.read(ord(self.rfile.read(2)[1:]))
        self.wfile.write(b"\5\0")
        kind = self.rfile.read(4)[3]
        name = self.rfile.read(ord(self.rfile.read(1))).decode() if kind == 3 else f"address of kind {kind}"
        self.rfile.read(2)
        self.server.asked.append(name)
        if name != HOST:
            return

        with socket.create_connection(self.server.service) as service:
            self.wfile.write(b"\5\0\0\1\0\0\0\0\0\0")
            back = threading.Thread(target=copy, args=(service, self.connection))
            back.start()
            copy(self.connection, service)
            back.join()


def copy(source: socket.socket, to: socket.socket) -> None:
    """Copies bytes until the end of a direction."""
    try:
        while part := source.recv(1 << 16):
            to.sendall(part)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        # The other side has closed the connection.
        pass


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy that records the names that it is asked for."""

    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        host, port = url.removeprefix("http://").split(":")
        self.service = (host, int(port))
        self.asked: list[str] = []
        self.url = f"socks5://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    pypapir.build({"apple": "red"}, tmp_path / "fruit.papir", scheme="inspire")
    with pypapir.serve(tmp_path / "fruit.papir") as service, Proxy(service.url) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()


def test_names_are_resolved_by_the_proxy(proxy: Proxy, tmp_path: Path) -> None:
    fruit = pypapir.connect(f"http://{HOST}:7470", proxy=proxy.url, state=tmp_path / "state")
    assert fruit.get("apple") == b"red"

    async def look_up() -> bytes | None:
        fruit = await pypapir.aio.connect(f"http://{HOST}:7470", proxy=proxy.url, state=tmp_path / "state")
        return await fruit.get("apple")

    assert asyncio.run(look_up()) == b"red"
    assert set(proxy.asked) == {HOST}


def test_a_proxy_of_the_environment_is_used_or_refused(proxy: Proxy, tmp_path: Path) -> None:
    program = f"""
import os, sys, pypapir
os.environ.update(ALL_PROXY=sys.argv[1], NO_PROXY="", no_proxy="")
for name in ("HTTP_PROXY", "http_proxy", "all_proxy"):
    os.environ.pop(name, None)
try:
    fruit = pypapir.connect("http://{HOST}:7470", state=sys.argv[2], patience=0)
    print(fruit.get("apple").decode())
except pypapir.Error as error:
    print(error.code, error)
"""

    def run(address: str) -> str:
        arguments = [sys.executable, "-c", program, address, str(tmp_path / "state")]
        return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.strip()

    assert run(proxy.url) == "red"
    assert run("gopher://127.0.0.1:9").startswith("bad_proxy ALL_PROXY: bad proxy: ")
    assert set(proxy.asked) == {HOST}


def test_a_proxy_that_fails_is_not_passed_by(proxy: Proxy) -> None:
    url = f"http://{proxy.service[0]}:{proxy.service[1]}"
    with pytest.raises(pypapir.NetworkError, match="through the proxy"):
        pypapir.connect(url, proxy=proxy.url, patience=0, cache=False, pin=False)
    assert proxy.asked and HOST not in proxy.asked

    with pytest.raises(ValueError, match="expected http, https, socks5"):
        pypapir.connect(url, proxy="gopher://p")
    assert pypapir.connect(url, proxy="none", cache=False, pin=False).get("apple") == b"red"


def test_a_relay_that_cannot_be_used_is_not_passed_by(proxy: Proxy, tmp_path: Path) -> None:
    url = f"http://{proxy.service[0]}:{proxy.service[1]}"
    with pytest.raises(pypapir.NetworkError, match="through the relay") as away:
        pypapir.connect(url, relay="http://127.0.0.1:9", patience=0, cache=False, pin=False)
    assert away.value.code == "relay"

    with pytest.raises(pypapir.Error) as plain:
        pypapir.connect(url, relay="http://r.example", cache=False, pin=False)
    assert plain.value.code == "bad_relay"
    with pytest.raises(pypapir.Error) as missing:
        pypapir.connect(url, relay="https://r.example", ohttp_keys=tmp_path / "none")
    assert missing.value.code == "bad_ohttp_keys"
    with pytest.raises(ValueError, match="needs a relay"):
        pypapir.connect(url, ohttp_keys=tmp_path / "none")
    with pytest.raises(pypapir.Error) as plain_issuer:
        pypapir.connect(url, issuer="http://issuer.example", cache=False, pin=False)
    assert plain_issuer.value.code == "bad_issuer"
    with pytest.raises(ValueError, match="needs an issuer"):
        pypapir.connect(url, issuer_token="secret")
