"""Sources of records, and remedies for those that papir does not read."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from pypapir._keys import Key


@runtime_checkable
class ArrowStream(Protocol):
    """A table or batches of pyarrow, pandas 2.2 or polars."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Source: TypeAlias = (
    str
    | os.PathLike[str]
    | Sequence[str | os.PathLike[str]]
    | ArrowStream
    | Iterable[ArrowStream]
    | Iterable[Mapping[str, Any]]
    | Mapping[Key, Key | None]
    | Iterable[tuple[Key, Key | None]]
    | Any
)
"""A path, a pattern or a list of them; the address of a PostgreSQL server; an Arrow table; an iterable of tables or
batches, or of rows as dicts; a mapping or pairs of keys and values; an array of uint8, a row for each record."""

REMEDIES = {
    ("polars", "LazyFrame"): "a table: collect it, as by frame.collect()",
    ("pandas", "DataFrame"): "pandas 2.2 or later, or pyarrow.Table.from_pandas(frame, preserve_index=False)",
    ("pyarrow", "Dataset"): "its batches: dataset.to_batches()",
    ("datasets", "DatasetDict"): 'one of its splits, such as splits["train"]',
}
"""The remedies for objects that are refused, by package and name of the type."""


def source_form(
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    separator: str | None = None,
    key_length: int | tuple[int, int] | None = None,
    key_hex: bool = False,
    key_pattern: str | None = None,
    binary_keys: bool = False,
    query: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    proxy: str | None = None,
) -> dict[str, Any]:
    """The form of a source that is a path or an address, as the native part reads it."""
    lengths = (key_length, key_length) if isinstance(key_length, int) else key_length
    return {
        "format": format,
        "delimiter": delimiter,
        "header": header,
        "separator": separator,
        "key_length": lengths,
        "key_hex": key_hex,
        "key_pattern": key_pattern,
        "binary_keys": binary_keys,
        "query": query,
        "ca": ca,
        "proxy": proxy,
    }


def refuse_unreadable(source: object) -> None:
    """Refuses a table that papir does not read, with the remedy.

    Raises:
        TypeError: It is one of those in `REMEDIES`, without a stream of Arrow.
    """
    if hasattr(source, "__arrow_c_stream__"):
        return
    for kind in type(source).__mro__:
        remedy = REMEDIES.get((kind.__module__.partition(".")[0], kind.__name__))
        if remedy is not None:
            raise TypeError(f"found a {kind.__name__} of {kind.__module__.partition('.')[0]}: expected {remedy}")
