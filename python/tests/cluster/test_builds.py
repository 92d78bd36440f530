"""Databases that tasks of a cluster build."""

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
import ray.data

import pypapir
import pypapir.ray

PATIENCE = 600
"""Seconds for what takes some on an idle machine."""


@pytest.mark.usefixtures("cluster")
def test_tasks_build_a_snapshot_from_a_dataset(tmp_path: Path) -> None:
    rows, parts = 200_000, 4
    for part in range(parts):
        numbers = range(part, rows, parts)
        table = pa.table({"word": [f"word {i}" for i in numbers], "meaning": [f"{i:0250d}" for i in numbers]})
        pq.write_table(table, tmp_path / f"words-{part}.parquet")
    paths = [str(tmp_path / f"words-{part}.parquet") for part in range(parts)]
    out = tmp_path / "words.papir"
    stages: set[str] = set()

    def seen(stage: str, done: int, of: int) -> None:
        stages.add(stage)

    columns: dict[str, Any] = {"key": "word", "value": "meaning", "memory": 400 << 20}
    built = pypapir.ray.build(paths, out, shards=2, options={"num_cpus": 0.5}, progress=seen, **columns)
    assert (built.entries, built.scheme) == (rows, "inspire")
    assert {"reading", "encode", "pack"} <= stages
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("words")] == []
    shards = pypapir.ray.Shards.start(out, 2, options={"num_cpus": 0.5})
    shards.close()
    opened = pypapir.open(out)
    assert opened.get("word 199999") == f"{199999:0250d}".encode()
    assert opened.get("absent") is None
    again = str(tmp_path / "words-again.parquet")
    pq.write_table(pq.read_table(paths[0]), again)
    with pytest.raises(pypapir.Error, match="row 200001: its key was already in row 1"):
        pypapir.ray.build([*paths, again], out, shards=2, **columns)
    with pytest.raises(pypapir.Error, match="no column `nothing`: expected one of word"):
        pypapir.ray.build(paths, out, shards=2, key="word", value="nothing")
    with pytest.raises(pypapir.Error, match="the number of shards is 1000: expected 1 to"):
        pypapir.ray.build(paths, out, shards=1000, **columns)
    with pytest.raises(pypapir.Error, match="tasks for simple: expected inspire"):
        pypapir.ray.build(ray.data.read_parquet(paths), out, shards=2, scheme="simple", **columns)


@pytest.mark.usefixtures("cluster")
def test_records_by_index_have_the_order_of_the_rows(tmp_path: Path) -> None:
    def late(block: pa.Table) -> pa.Table:
        # The first rows come last.
        time.sleep(1 if block["number"][0].as_py() == 0 else 0)
        return block.append_column("value", pa.array([f"{i.as_py():0300d}" for i in block["number"]]))

    count = 40_000
    numbers = ray.data.from_items([{"number": i} for i in range(count)], override_num_blocks=4)
    rows = numbers.map_batches(late, batch_size=None, batch_format="pyarrow")
    out = tmp_path / "numbers.papir"
    pypapir.ray.build(rows, out, shards=1, value="value", memory=400 << 20)
    opened = pypapir.open(out)
    for i in [0, 9_999, 10_000, count - 1]:
        assert opened.get_index(i) == f"{i:0300d}".encode()
    assert not rows.context.execution_options.preserve_order


@pytest.mark.usefixtures("cluster")
def test_one_large_block_of_pandas_is_read_in_parts(tmp_path: Path) -> None:
    # More than a task partitions at a time.
    count = 100_000
    frame = pd.DataFrame({"word": [f"word {i}" for i in range(count)], "meaning": ["x" * 300] * count})
    rows = ray.data.from_pandas([frame])
    out = tmp_path / "words.papir"
    columns: dict[str, Any] = {"key": "word", "value": "meaning", "memory": 400 << 20}
    built = pypapir.ray.build(rows, out, shards=1, **columns)
    assert built.entries == count
    assert pypapir.open(out).get(f"word {count - 1}") == b"x" * 300


@pytest.mark.usefixtures("cluster")
def test_control_c_ends_the_reading(tmp_path: Path) -> None:
    read = tmp_path / "read"
    stuck = tmp_path / "stuck"

    def slow(block: pa.Table) -> pa.Table:
        # The first time, for the schema, it is fast.
        if read.exists():
            stuck.touch()
            end = time.monotonic() + PATIENCE
            while stuck.exists() and time.monotonic() < end:
                time.sleep(0.1)
        read.touch()
        return block

    word = ray.data.from_items([{"word": "a", "meaning": "b"}])
    rows = word.map_batches(slow, batch_size=None, batch_format="pyarrow")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupted: list[float] = []

    def interrupt() -> None:
        while not stuck.exists():
            time.sleep(0.1)
        interrupted.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        pypapir.ray.build(rows, tmp_path / "w.papir", shards=1, key="word", value="meaning")
    assert time.monotonic() - interrupted[0] < 120
    assert set(tmp_path.iterdir()) == {read, stuck}

    # The thread that reads can end, and asks Ray nothing after this process has left.
    stuck.unlink()
