"""Descriptions of clients and databases, and their ends."""

import asyncio
import logging
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypapir
from pypapir._keys import as_bytes

WORDS = {f"word {i}": f"meaning {i}" for i in range(300)}


@pytest.fixture
def service(tmp_path: Path) -> Any:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="inspire")
    with pypapir.serve(tmp_path / "words.papir", keep_old=0) as service:
        yield service


def test_the_version_is_that_of_the_program() -> None:
    printed = subprocess.run([os.environ["PAPIR"], "--version"], check=True, capture_output=True, text=True)
    assert pypapir.__version__ in printed.stdout.split()


def test_a_client_describes_its_database_and_counts_its_costs(service: pypapir.Service, tmp_path: Path) -> None:
    words = pypapir.connect(service.url, state=tmp_path / "state")
    info, before = words.info, words.costs
    assert (info.name, info.scheme, info.keyed, info.private) == ("words", "inspire", True, True)
    assert info.records > 0 and info.record_bits > 0 and info.sizes["query"] > 0
    assert info.version == words.version == pypapir.open(tmp_path / "words.papir").version
    assert (words.checkpoint, words.root) == (None, None)
    assert before.public_bytes > 0 and before.requests == 0
    words.get("word 7")
    after = words.costs
    assert after.requests >= 1 and after.query_bytes > 0 and after.answer_bytes > 0 and after.extract_s > 0
    pypapir.build({"word 7": "another"}, tmp_path / "words.papir", scheme="inspire")
    service.reload()
    words.get("word 7")
    assert words.version == pypapir.open(tmp_path / "words.papir").version != info.version


def build_signed(directory: Path) -> str:
    """Builds a signed and verifiable `words.papir`. Returns its owner's public key."""

    def papir(*arguments: str | Path) -> str:
        command = [os.environ["PAPIR"], *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (directory / "words.csv").write_text("word,meaning\napple,a fruit\n")
    owner = papir("checkpoint", "keygen", directory / "owner.key", "--name", "tests/owner")
    columns: list[str | Path] = ["--key", "word", "--value", "meaning", "--sign", directory / "owner.key"]
    papir("build", directory / "words.csv", *columns, "--verifiable", "--out", directory / "words.papir")
    return owner


def test_several_services_stand_in_for_one_another(tmp_path: Path) -> None:
    owner = build_signed(tmp_path)
    options: pypapir.ConnectOptions = {"state": tmp_path / "state", "owner": owner, "patience": 0}
    with pypapir.serve(tmp_path / "words.papir") as first, pypapir.serve(tmp_path / "words.papir") as second:
        urls = [first.url, second.url]
        words = pypapir.connect(urls, **options)
        assert words.get("apple") == b"a fruit"
        first.close()
        assert words.get("apple") == b"a fruit"

        async def look_up() -> bytes | None:
            async with await pypapir.aio.connect(urls, **options) as words:
                return await words.get("apple")

        assert asyncio.run(look_up()) == b"a fruit"
        second.close()
        with pytest.raises(pypapir.NetworkError) as raised:
            words.get("apple")
        assert raised.value.code == "no_server"
        assert all(url in str(raised.value) for url in urls)

    with pytest.raises(pypapir.Error, match="neither an owner's key nor a root") as refused:
        pypapir.connect(urls, state=tmp_path / "state", pin=False)
    assert refused.value.code == "servers"


def test_a_client_shows_the_root_and_the_checkpoint(tmp_path: Path) -> None:
    owner = build_signed(tmp_path)
    with pypapir.serve(tmp_path / "words.papir") as service:
        words = pypapir.connect(service.url, state=tmp_path / "state", owner=owner)
        assert words.checkpoint is not None and words.root is not None
        assert (words.checkpoint.owner, words.checkpoint.sequence, words.checkpoint.cosignatures) == (owner, 0, 0)
        assert len(bytes.fromhex(words.root)) == 32


def test_a_client_that_is_closed_refuses(service: pypapir.Service, tmp_path: Path) -> None:
    with pypapir.connect(service.url, state=tmp_path / "state") as words:
        assert words.get("word 7") == b"meaning 7"
    words.close()
    for call in (lambda: words.get("word 7"), lambda: words.info, lambda: words.costs):
        with pytest.raises(pypapir.Error, match="the client is closed") as raised:
            call()
        assert raised.value.code == "closed"


def test_a_client_with_coroutines_does_the_same(service: pypapir.Service, tmp_path: Path) -> None:
    async def look_up() -> None:
        async with await pypapir.aio.connect(service.url, state=tmp_path / "state") as words:
            assert await words.get("word 7") == b"meaning 7"
            assert words.info.name == "words" and words.costs.requests >= 1
            assert words.version == words.info.version
        with pytest.raises(pypapir.Error, match="the client is closed"):
            await words.get("word 7")
        with pytest.raises(pypapir.Error, match="the client is closed"):
            _ = words.version

    asyncio.run(look_up())


def test_a_database_looks_up_several_and_is_closed(tmp_path: Path) -> None:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="simple")
    with pypapir.open(tmp_path / "words.papir") as words:
        assert words.get_many(["word 1", b"absent", "word 2"]) == [b"meaning 1", None, b"meaning 2"]
        assert words.get_many([]) == []
    with pytest.raises(pypapir.Error, match="the database is closed"):
        words.get("word 1")
    records = np.random.default_rng(2).integers(0, 256, (500, 8), dtype=np.uint8)
    pypapir.build(records, tmp_path / "records.papir", scheme="simple")
    opened = pypapir.open(tmp_path / "records.papir")
    assert opened.get_indices([499, 0]) == [records[499].tobytes(), records[0].tobytes()]
    with pytest.raises(pypapir.Error, match="index 500"):
        opened.get_indices([0, 500])


def test_integers_are_keys_as_in_builds(tmp_path: Path) -> None:
    numbers = [7, -3, (1 << 64) - 1]
    pypapir.build({number: f"value {number}" for number in numbers}, tmp_path / "numbers.papir")
    opened = pypapir.open(tmp_path / "numbers.papir")
    expected = [f"value {number}".encode() for number in numbers]
    assert opened.get_many(numbers) == expected
    assert opened.get(np.int64(7)) == b"value 7"  # type: ignore[arg-type]
    with pypapir.serve(tmp_path / "numbers.papir") as service:
        assert pypapir.connect(service.url, state=tmp_path / "state").get_many(numbers) == expected


def test_keys_of_other_types_are_refused() -> None:
    assert [as_bytes(key) for key in ("é", b"x", True)] == ["é".encode(), b"x", b"true"]
    for key in (0.5, None, [1]):
        with pytest.raises(TypeError, match="expected bytes, str or int"):
            as_bytes(key)  # type: ignore[arg-type]


@pytest.fixture
def nobody() -> Any:
    """The address of a port that refuses connections: it is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://user:secret@127.0.0.1:{taken.getsockname()[1]}"


def test_retries_are_logged(nobody: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="pypapir")

    async def connect() -> None:
        await pypapir.aio.connect(nobody, patience=5)

    calls: list[Callable[[], object]] = [
        lambda: pypapir.connect(nobody, patience=5),
        lambda: asyncio.run(connect()),
    ]
    for call in calls:
        caplog.clear()
        with pytest.raises(pypapir.NetworkError):
            call()
        records = [record for record in caplog.records if record.name == "pypapir"]
        assert records
        for record in records:
            assert record.getMessage().startswith("waiting for http://user:***@127.0.0.1:")


def test_errors_and_logs_have_no_passwords(nobody: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="pypapir")
    with pytest.raises(pypapir.NetworkError) as refused:
        pypapir.connect(nobody, patience=1)
    assert "user:***@" in str(refused.value)
    with pytest.raises(pypapir.Error) as malformed:
        pypapir.connect("https://h/?token=secret")
    assert "token=***" in str(malformed.value)
    with pytest.raises(pypapir.Error) as named:
        pypapir.connect("https://secret@h/?x")
    assert "https://***@h" in str(named.value)
    assert "secret" not in f"{refused.value} {malformed.value} {named.value} {caplog.text}"
