"""The rows of a dataset of Ray Data, in their order."""

import queue
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pypapir import _native

if TYPE_CHECKING:
    from ray.data import Dataset

INTERVAL = 0.5
"""Seconds between two looks at tasks."""

PARTS = 16
"""The memory of a build, divided by this, bounds the rows that a task partitions at a time."""

READERS = ("accelerator_type", "label_selector", "memory", "resources", "runtime_env")
"""Task options that are passed on to Ray Data, besides `num_cpus`."""

ADDED = pa.schema([("names", pa.list_(pa.string())), ("rows", pa.int64()), ("error", pa.string())])
"""The result of reading a block: names of parts, number of rows, and an error or an empty string."""


def schema_of(rows: "Dataset") -> pa.Schema:
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


def read_by_tasks(
    rows: "Dataset", schema: pa.Schema, folder: str, memory: int, options: Mapping[str, Any]
) -> Iterator[str | None]:
    """Has tasks write the blocks to parts of the build in `folder`.

    Yields the names of parts in the order of the rows, and None from time to time, so that Ctrl-C is seen.
    """

    def add(block: pa.Table) -> pa.Table:
        names: list[str] = []
        error = ""
        parts = max(1, -(-block.nbytes // (memory // PARTS)))
        rows_of_part = -(-block.num_rows // parts)
        try:
            # The blocks of a dataset may differ in type.
            block = block.cast(schema)
            for part in range(parts):
                # A retried task writes parts under new names. No result names the old ones.
                names.append(uuid.uuid4().hex)
                _native.add_rows(folder, names[-1], block.slice(part * rows_of_part, rows_of_part))
        except (_native.Error, pa.ArrowException) as found:
            # Ray would wrap an exception in its own text, with the traceback of the task.
            error = str(found)
        return pa.table({"names": [names], "rows": [block.num_rows], "error": [error]}, schema=ADDED)

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
    found: queue.Queue[dict[str, Any] | BaseException | None] = queue.Queue()
    closed = threading.Event()

    def drain() -> None:
        try:
            with _ordered(rows):
                for row in rows.iter_rows():
                    found.put(row)
                    if closed.is_set():
                        return
        except BaseException as error:
            # Any that were left out would end the rows early, without a word.
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
            if isinstance(one, BaseException):
                raise one
            yield one
    finally:
        closed.set()


def stream(rows: "Dataset", schema: pa.Schema) -> pa.RecordBatchReader:
    """The rows as one stream in their order, of which a few blocks are in memory."""

    def batches() -> Iterator[pa.RecordBatch]:
        with _ordered(rows):
            blocks: Any = rows.iter_batches(batch_format="pyarrow", batch_size=1 << 16)
            for block in blocks:
                yield from block.cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())
