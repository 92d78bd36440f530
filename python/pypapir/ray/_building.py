"""Snapshots that tasks on many machines prepare."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import ray

from pypapir import _native
from pypapir._building import Bar, Built, ProgressFunction
from pypapir._sources import source_form
from pypapir.ray._reading import INTERVAL, read_by_tasks, schema_of, stream

if TYPE_CHECKING:
    from ray.data import Dataset

Rows: TypeAlias = "Dataset | str | Sequence[str]"
"""A dataset of Ray Data, or paths of Parquet files or folders."""

MEMORY = 2 << 30
"""The default memory of the build, and about that of each task, in bytes."""

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
    force: bool = False,
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
        force: Replaces a file at `out` that papir did not write.
        options: Options of each task, such as `num_cpus` (1) or `scheduling_strategy`. A task works on as many
            threads as it has processors. Tasks that read rows have at most one, and are placed and run again
            as Ray Data does.
        progress: True for a bar of tqdm, or a function.

    Raises:
        Error: With the text of `papir build`.
        ray.exceptions.RayError: A task or the dataset failed; the message says why.
        Exception: Exceptions of `progress`, as they are.
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

    schema = schema_of(rows)

    def read(folder: str) -> Iterator[str | None]:
        return read_by_tasks(rows, schema, folder, memory, options or {})

    with Bar(progress) as report:
        built = _native.build(
            schema.empty_table() if key else stream(rows, schema),
            out,
            form=source_form(),
            key=key,
            values=values,
            scheme=scheme,
            clients_may_see=None,
            goal=goal,
            verifiable=False,
            prefilter=None,
            memory=memory,
            name=name,
            params=params,
            shards=None,
            record_bytes=None,
            force=force,
            tasks=(shards, read if key else None, run),
            progress=report,
        )
    return Built(path=os.fspath(out), **built)


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
