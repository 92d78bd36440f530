"""Exceptions of the caller's own code pass through papir as they are."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import pypapir
from pypapir import _sources
from pypapir.ray import _reading


class OwnError(Exception):
    """An exception of the caller."""


KINDS = [OwnError, KeyboardInterrupt, SystemExit]


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_progress_function(kind: type[BaseException], tmp_path: Path) -> None:
    def progress(stage: str, done: int, of: int) -> None:
        raise kind("of the caller")

    with pytest.raises(kind, match="of the caller"):
        pypapir.build({"a": "b"}, tmp_path / "w.papir", scheme="simple", progress=progress)
    assert not list(tmp_path.iterdir())
    with pytest.raises(kind, match="of the caller"):
        pypapir.bench("simple", records=4096, record_bytes=32, runs=1, progress=progress)


def test_a_bar_without_tqdm_is_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    pairs = iter([("a", "b")])
    with pytest.raises(ImportError, match="tqdm"):
        pypapir.build(pairs, tmp_path / "w.papir", progress=True)
    assert next(pairs) == ("a", "b")


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_functions_that_run_tasks(kind: type[BaseException], tmp_path: Path) -> None:
    def read(folder: str) -> Iterator[str | None]:
        yield None
        raise kind("of the caller")

    def run(folder: str, encode: int, prepare: int) -> Iterator[tuple[str, int, int]]:
        yield "encode", 0, encode

    empty = pa.table({"word": pa.array([], pa.string()), "meaning": pa.array([], pa.string())})
    with pytest.raises(kind, match="of the caller"):
        pypapir._native.build(
            empty,
            tmp_path / "w.papir",
            key="word",
            values=["meaning"],
            scheme="inspire",
            clients_may_see=None,
            form=_sources.source_form(),
            goal=None,
            verifiable=False,
            prefilter=None,
            memory=400 << 20,
            name=None,
            params=None,
            shards=None,
            record_bytes=None,
            force=False,
            tasks=(1, read, run),
            progress=None,
        )
    assert not list(tmp_path.iterdir())


def test_control_c_ends_a_build_whose_source_is_slow(tmp_path: Path) -> None:
    seen = threading.Event()

    def handle(*_: object) -> None:
        seen.set()
        raise KeyboardInterrupt

    count = 0

    def slow() -> Iterator[tuple[str, str]]:
        nonlocal count
        yield "first", "value"
        signal.raise_signal(signal.SIGINT)
        # The main thread waits for the build, and looks for signals meanwhile.
        seen.wait()
        while True:
            count += 1
            yield f"word {count}", "value"
            # Longer than a block of items is read.
            time.sleep(0.1)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            pypapir.build(slow(), tmp_path / "w.papir", scheme="simple")
    finally:
        signal.signal(signal.SIGINT, before)
    # Not as many as are read together from a fast source.
    assert count < 1000
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_dataset_that_a_thread_reads(kind: type[BaseException]) -> None:
    class Rows:
        context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False))

        def iter_rows(self) -> Iterator[dict[str, Any]]:
            yield {"rows": 1}
            raise kind("of the caller")

    rows: Any = Rows()
    found: list[dict[str, Any] | None] = []
    with pytest.raises(kind, match="of the caller"):
        found.extend(_reading._drained(rows))
    assert not rows.context.execution_options.preserve_order
