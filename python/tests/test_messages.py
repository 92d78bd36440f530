"""Lookups whose queries and answers travel in messages."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pypapir


def build(folder: Path) -> None:
    """Builds a database of words, whose clients register keys."""
    rows = "word,meaning\n" + "".join(f"word {i},meaning {i}\n" for i in range(60))
    (folder / "words.csv").write_text(rows)
    pypapir.build(folder / "words.csv", folder / "words.papir", key="word", value="meaning", scheme="pirouette")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a service of the program, at which clients may register."""
    command: list[str | Path] = [os.environ["PAPIR"], "serve", folder / "words.papir"]
    command += ["--listen", "127.0.0.1:0", "--registry", folder / "registry"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            address = re.search(r"http://\S+", service.stdout.readline())
            assert address is not None
            yield address.group()
        finally:
            service.terminate()


def answer(folder: Path, query: bytes, *more: str) -> subprocess.CompletedProcess[str]:
    """Answers a query as the operator, whose service does not run. The answer is in `a.bin`."""
    (folder / "q.bin").write_bytes(query)
    command: list[str | Path] = [os.environ["PAPIR"], "answer", folder / "words.papir", folder / "q.bin"]
    command += ["--registry", folder / "registry", "--out", folder / "a.bin", *more]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def answered(folder: Path, query: bytes) -> bytes:
    """The answer to a query."""
    done = answer(folder, query)
    assert done.returncode == 0, done.stderr
    return (folder / "a.bin").read_bytes()


def changed(message: bytes) -> bytes:
    """The message with another first bit."""
    return bytes([message[0] ^ 1]) + message[1:]


def test_queries_and_answers_travel_in_messages(tmp_path: Path) -> None:
    build(tmp_path)
    options: pypapir.ConnectOptions = {"known": True, "state": tmp_path / "state"}
    with serving(tmp_path) as url, pypapir.connect(url, **options) as client:
        # Registers, and keeps the version.
        first = client.query_message("word 7")

    # Nobody answers any more.
    async def ask() -> bytes:
        async with await pypapir.aio.connect(url, **options) as client:
            return await client.query_message("absent")

    second = asyncio.run(ask())
    assert (len(first), first[:4]) == (len(second), second[:4])
    answers = [answered(tmp_path, query) for query in (first, second)]
    assert pypapir.extract_message(url, answers[0], **options) == b"meaning 7"

    async def extract() -> bytes | None:
        return await pypapir.aio.extract_message(url, answers[1], **options)

    assert asyncio.run(extract()) is None


def test_each_fault_of_a_message_has_words_of_its_own(tmp_path: Path) -> None:
    build(tmp_path)
    options: pypapir.ConnectOptions = {"known": True, "state": tmp_path / "state"}
    with serving(tmp_path) as url, pypapir.connect(url, **options) as client:
        query = client.query_message("word 7")
        with pytest.raises(pypapir.Error) as keyed:
            client.query_message_index(0)
        assert keyed.value.code == "keyed"

    found = answered(tmp_path, query)
    for message, words in [
        (changed(found), "the tag of another client, version or query"),
        (found[:-1], "a truncated one"),
        (b"", "a truncated one"),
    ]:
        with pytest.raises(pypapir.Error, match=words) as raised:
            pypapir.extract_message(url, message, **options)
        assert raised.value.code == "malformed"

    nobody = ["--client", "0" * 32]
    for refused, words in [
        (answer(tmp_path, changed(query)), "its client is unknown"),
        (answer(tmp_path, query, *nobody), "the named client is unknown"),
        (answer(tmp_path, query[:-1]), "a short query has"),
    ]:
        assert refused.returncode == 2
        assert words in refused.stderr

    (tmp_path / "changes.csv").write_text("word,meaning\nword 7,another\n")
    database, changes = tmp_path / "words.papir", tmp_path / "changes.csv"
    subprocess.run([os.environ["PAPIR"], "update", database, "--from", changes], check=True)
    assert "it is for version" in answer(tmp_path, query).stderr
    assert pypapir.extract_message(url, found, **options) == b"meaning 7"
    with pytest.raises(pypapir.Error, match="one that was extracted"):
        pypapir.extract_message(url, found, **options)


def test_a_query_in_a_message_needs_a_kept_version_and_a_scheme_with_registered_keys(tmp_path: Path) -> None:
    build(tmp_path)
    with serving(tmp_path) as url:
        with pypapir.connect(url, state=tmp_path / "asking") as client, pytest.raises(pypapir.Error) as raised:
            client.query_message("word 7")
        assert raised.value.code == "malformed"
        with pypapir.connect(url, state=tmp_path / "renewing", known="renew") as client:
            assert client.query_message("word 7")
        with pytest.raises(ValueError, match="ask, use or renew"):
            pypapir.connect(url, known="sometimes")  # type: ignore[arg-type]

    pypapir.build({"word": "meaning"}, tmp_path / "other.papir", scheme="simple")
    with pypapir.serve(tmp_path / "other.papir") as service:
        client = pypapir.connect(service.url, state=tmp_path / "simple", known=True)
        with pytest.raises(pypapir.UnsupportedError) as unsupported:
            client.query_message("word")
        assert unsupported.value.code == "no_parameters"
