"""Snapshots that tasks on many machines prepare."""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
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

    Ray Data reads the rows, hashes the keys and partitions the rows by the first bits of the hashes, into files
    in a folder beside `out`. This process arranges one partition after the other. Tasks then encode the records
    and prepare the slices. No process holds the database in memory.

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
            threads as it has processors; one that reads rows has one.
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

    def read(folder: str) -> Iterator[str]:
        return _read(rows, folder, options or {})

    with Bar(progress) as report:
        built = _native.build(
            _schema(rows).empty_table() if key else _stream(rows),
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
    schema = rows.schema()
    if schema is None:
        raise _native.Error("the dataset has no rows: expected at least one")
    base: pa.Schema = schema.base_schema
    return base


def _read(rows: "Dataset", folder: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Has each block written to a part of the build in `folder`, and yields the names of parts in order."""

    def add(block: pa.Table) -> pa.Table:
        # A task that is run again leaves a part that no result names.
        name, error = uuid.uuid4().hex, ""
        try:
            _native.add_rows(folder, name, block)
        except _native.Error as found:
            # An exception would come back as a text of Ray's, with the traceback of the task.
            error = str(found)
        return pa.table({"name": [name], "error": [error]})

    # Ray Data runs its tasks again by rules of its own.
    chosen = {name: option for name, option in options.items() if name != "max_retries"} | {"num_cpus": 1}
    parts = rows.map_batches(add, batch_size=None, batch_format="pyarrow", **chosen)
    # Errors name the rows of a duplicate, counted in the order of the parts. The dataset shares the options.
    execution = parts.context.execution_options
    ordered, execution.preserve_order = execution.preserve_order, True
    try:
        for part in parts.iter_rows():
            if part["error"]:
                raise _native.Error(part["error"])
            yield part["name"]
    finally:
        execution.preserve_order = ordered


def _stream(rows: "Dataset") -> pa.RecordBatchReader:
    """The rows as one stream, of which a few blocks are in memory."""
    blocks: Any = rows.iter_batches(batch_format="pyarrow", batch_size=1 << 16)
    batches = (batch for block in blocks for batch in block.to_batches())
    return pa.RecordBatchReader.from_batches(_schema(rows), batches)


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
