"""Snapshots that tasks on many machines prepare."""

import os
import queue
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import ray

from pypapir import _native
from pypapir._building import Bar, Built, ProgressFunction

if TYPE_CHECKING:
    from ray.data import Dataset

Rows: TypeAlias = "Dataset | str | Sequence[str]"
"""A dataset of Ray Data, or paths of Parquet files or folders."""

MEMORY = 2 << 30
"""The default memory of the build, and about that of each task, in bytes."""

INTERVAL = 0.5
"""Seconds between two looks at the tasks."""

PARTS = 16
"""A task reads the rows of a part of the memory at a time: some copies of them fit."""

READERS = ("accelerator_type", "label_selector", "memory", "resources", "runtime_env")
"""Options of tasks that also tasks of Ray Data take, besides processors."""

RETRIES = 5
"""Times that Ray runs a task again whose process or machine is lost."""


def build(
    dataset: Rows,
    out: str | os.PathLike[str],
    *,
    shards: int,
    key: str | None = None,
    value: str | Sequence[str] = (),
    scheme: str = "inspire",
    goal: str | None = None,
    params: str | None = None,
    name: str | None = None,
    memory: int = MEMORY,
    options: Mapping[str, Any] | None = None,
    progress: bool | ProgressFunction = False,
) -> Built:
    """Builds a snapshot for `Shards.start` with the tasks of a cluster.

    With a key, tasks of Ray Data read the rows, hash the keys and write the rows to a folder beside `out`,
    partitioned by the first bits of the hashes. This process arranges one partition after the other. Without a
    key, this process reads the rows, block after block. Tasks then encode the records and prepare the slices.
    No process holds the database in memory.

    Args:
        dataset: The rows; see `Rows`.
        out: The snapshot file, in a folder that all machines have.
        shards: The number of machines that will serve it: at least as many tasks prepare it.
        key: The column of keys. Without one, records are looked up by index.
        value: The columns of values; several become a JSON object.
        scheme: The scheme's name. Only `inspire` is prepared by tasks.
        goal: `balanced` (the default), `min-communication` or `min-time`.
        params: Parameters by the label that `papir plan --all` prints. A database with fewer slices than
            shards is refused; fewer columns make more slices.
        name: The database's name; by default the file's stem.
        memory: The most memory of this process in bytes, and about that of a task.
        options: Options of each task, such as `num_cpus` (1) or `scheduling_strategy`. A task works on as many
            threads as it has processors. Tasks that read rows have at most one, and are placed and run again
            as Ray Data does.
        progress: True for a bar of tqdm, or a function.

    Raises:
        Error: With the text of `papir build`, or of a task.
    """
    values = [value] if isinstance(value, str) else list(value)
    # Ray Data is slow to import, and only needed here.
    import ray.data

    if isinstance(dataset, ray.data.Dataset):
        rows = dataset
    else:
        rows = ray.data.read_parquet(dataset if isinstance(dataset, str) else list(dataset))
    if columns := [*([key] if key else []), *values]:
        rows = rows.select_columns(columns)
    chosen = {"num_cpus": 1, "max_retries": RETRIES, **(options or {})}

    def run(folder: str, encode: int, prepare: int) -> Iterator[tuple[str, int, int]]:
        yield from _all(_encode, chosen, folder, encode, "encode")
        yield from _all(_prepare, chosen, folder, prepare, "pack")

    schema = _schema(rows)

    def read(folder: str) -> Iterator[str | None]:
        return _read(rows, schema, folder, memory, options or {})

    with Bar(progress) as report:
        built = _native.build(
            schema.empty_table() if key else _stream(rows, schema),
            out,
            key=key,
            values=values,
            scheme=scheme,
            goal=goal,
            verifiable=False,
            memory=memory,
            name=name,
            params=params,
            shards=None,
            record_bytes=None,
            tasks=(shards, read if key else None, run),
            progress=report,
        )
    return Built(path=os.fspath(out), **built)


def _schema(rows: "Dataset") -> pa.Schema:
    """The columns as Arrow has them."""
    schema = rows.schema()
    if schema is None:
        raise _native.Error("the dataset has no rows: expected at least one")
    if isinstance(schema.base_schema, pa.Schema):
        return schema.base_schema
    # Blocks of pandas have no schema of Arrow.
    first: pa.Table = rows.take_batch(1, batch_format="pyarrow")
    return first.schema


@contextmanager
def _ordered(rows: "Dataset") -> Iterator[None]:
    """Has Ray Data keep the order of rows, which it shares with all datasets made of the same one."""
    options = rows.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        yield
    finally:
        options.preserve_order = before


def _read(
    rows: "Dataset", schema: pa.Schema, folder: str, memory: int, options: Mapping[str, Any]
) -> Iterator[str | None]:
    """Has tasks write the blocks to parts of the build in `folder`.

    Yields the names of parts in the order of the rows, and None from time to time, so that Ctrl-C is seen.
    """

    def add(block: pa.Table) -> pa.Table:
        names: list[str] = []
        parts = max(1, block.nbytes // (memory // PARTS))
        rows_of_part = -(-block.num_rows // parts)
        try:
            # Blocks of one dataset may have other types.
            block = block.cast(schema)
            for part in range(parts):
                # A task that is run again leaves parts that no result names.
                names.append(uuid.uuid4().hex)
                _native.add_rows(folder, names[-1], block.slice(part * rows_of_part, rows_of_part))
        except (_native.Error, pa.ArrowException) as error:
            # An exception would come back as a text of Ray's, with the traceback of the task.
            return pa.table({"names": [names], "rows": [block.num_rows], "error": [str(error)]})
        return pa.table({"names": [names], "rows": [block.num_rows], "error": [""]})

    chosen = {name: options[name] for name in READERS if name in options}
    chosen["num_cpus"] = min(1, options.get("num_cpus", 1))
    added = rows.map_batches(add, batch_size=None, batch_format="pyarrow", **chosen)
    first = 1
    for one in _drained(added):
        if one is None:
            yield None
            continue
        last = first + one["rows"] - 1
        if one["error"]:
            raise _native.Error(f"{one['error']} (in rows {first} to {last})")
        yield from one["names"]
        first = last + 1


def _drained(rows: "Dataset") -> Iterator[dict[str, Any] | None]:
    """The rows of a dataset in order, and None from time to time while there is none."""
    found: queue.Queue[dict[str, Any] | Exception | None] = queue.Queue()
    closed = threading.Event()

    def drain() -> None:
        try:
            with _ordered(rows):
                for row in rows.iter_rows():
                    found.put(row)
                    if closed.is_set():
                        return
        except Exception as error:
            found.put(error)
        finally:
            found.put(None)

    threading.Thread(target=drain, daemon=True).start()
    try:
        while True:
            try:
                one = found.get(timeout=INTERVAL)
            except queue.Empty:
                yield None
                continue
            if one is None:
                return
            if isinstance(one, Exception):
                raise one
            yield one
    finally:
        closed.set()


def _stream(rows: "Dataset", schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows as one stream in their order, of which a few blocks are in memory."""

    def batches() -> Iterator[pa.RecordBatch]:
        with _ordered(rows):
            blocks: Any = rows.iter_batches(batch_format="pyarrow", batch_size=1 << 16)
            for block in blocks:
                yield from block.cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _all(
    task: Any, options: Mapping[str, Any], folder: str, count: int, stage: str
) -> Iterator[tuple[str, int, int]]:
    """Runs tasks with the numbers below `count`, and yields how many are done."""
    threads = max(1, int(options["num_cpus"]))
    waiting = [task.options(**options).remote(folder, number, threads) for number in range(count)]
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=INTERVAL)
            ray.get(done)
            yield stage, count - len(waiting), count
    finally:
        for one in waiting:
            ray.cancel(one)


@ray.remote
def _encode(folder: str, number: int, threads: int) -> None:
    _native.encode_task(folder, number, threads)


@ray.remote
def _prepare(folder: str, number: int, threads: int) -> None:
    _native.prepare_task(folder, number, threads)
