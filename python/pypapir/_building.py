"""Snapshots from files, tables, pairs and arrays."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pypapir import _native
from pypapir._sources import Source, refuse_unreadable, source_form

ProgressFunction: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and of how much (0 if that is not known). An exception of it ends
the work."""


@dataclass(frozen=True)
class Built:
    """A snapshot that was built."""

    path: str
    name: str
    scheme: str
    version: str
    entries: int
    records: int
    record_bits: int
    snapshot_bytes: int
    public_bytes: int
    query_bytes: int
    answer_bytes: int
    chosen: str | None
    """Why the build chose this scheme; None if the scheme was named."""


def build(
    source: Source,
    out: str | os.PathLike[str],
    *,
    key: str | None = None,
    value: str | Sequence[str] = (),
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
    scheme: str | None = None,
    clients_may_see: str | None = None,
    goal: str | None = None,
    params: str | None = None,
    name: str | None = None,
    verifiable: bool = False,
    prefilter: int | None = None,
    memory: int | None = None,
    shards: int | None = None,
    record_bytes: int | None = None,
    force: bool = False,
    progress: bool | ProgressFunction = False,
) -> Built:
    """Builds a snapshot, as `papir build` does.

    Args:
        source: The records; see `Source`. The formats of files are told apart by their names, or else by
            their content.
        out: The snapshot file. It appears under its name once it is complete.
        key: The column of keys. Without one, records are looked up by index.
        value: The columns of values; several become a JSON object. With a key and without values, the database
            is a set of keys, whose values are empty. Lists, pairs and hosts files have keys without columns.
        format: The format of a file: `csv`, `tsv`, `jsonl`, `list`, `pairs`, `hosts`, `parquet`, `arrow`,
            `sqlite`, `folder` or `raw`.
        delimiter: The byte between the fields of CSV or TSV.
        header: False if the first row of CSV or TSV is a row; columns are then `"1"`, `"2"` and so on.
        separator: The text between key and value of pairs; `:` by default.
        key_length: The number of bytes that each key has, or the fewest and the most.
        key_hex: Requires keys of hexadecimal digits, with letters in one case.
        key_pattern: The regular expression that each key matches as a whole.
        binary_keys: Allows keys of text files that are not UTF-8.
        query: The query that a PostgreSQL server runs, in a transaction that cannot write, or that is read from an
            SQLite database. `source` is the server's address, `postgres://USER@HOST/DATABASE`. Its password comes
            from the variable PGPASSWORD, or from the file that PGPASSFILE names.
        ca: A PEM file of the certificates that the connection to the server trusts, in place of the one that
            PGSSLROOTCERT names, or else of those that the system trusts.
        proxy: `none` if the variable ALL_PROXY, which names a proxy, does not apply to the server. No proxy leads to
            it.
        scheme: The scheme's name; by default one that is chosen by the number and length of the records, or
            `inspire` with `params`. `auto` takes the one that `plan` recommends for this machine.
        clients_may_see: The records that each client may see, if no scheme is named: `records` (the default),
            as many as with `inspire`; `column`, all in a column of the matrix; or `all`.
        goal: `balanced` (the default), `min-communication` or `min-time`.
        params: Parameters by the label that `papir plan --all` prints.
        name: The database's name; by default the file's stem.
        verifiable: Adds proofs to records.
        prefilter: Adds a filter of the keys with these bits, 4 to 24, in which an absent key is with probability
            2 ** -bits. Clients then look up only keys that may exist, and a lookup tells the service that its key is
            probably present.
        memory: The most memory of the build in bytes, for databases larger than memory.
        shards: Chooses the scheme and parameters that `plan` recommends for as many machines.
        record_bytes: Bytes of a record in a raw file.
        force: Replaces a file at `out` that papir did not write.
        progress: True for a bar of tqdm, or a function.

    Raises:
        Error: With the text of `papir build`.
        ImportError: `progress` is True, and there is no tqdm.
        TypeError: The source is of no kind that papir reads.
        Exception: Exceptions of a source's own code and of `progress`, as they are.
    """
    refuse_unreadable(source)
    values = [value] if isinstance(value, str) else list(value)
    with Bar(progress) as report:
        built = _native.build(
            source,
            out,
            form=source_form(
                format=format,
                delimiter=delimiter,
                header=header,
                separator=separator,
                key_length=key_length,
                key_hex=key_hex,
                key_pattern=key_pattern,
                binary_keys=binary_keys,
                query=query,
                ca=ca,
                proxy=proxy,
            ),
            key=key,
            values=values,
            scheme=scheme,
            clients_may_see=clients_may_see,
            goal=goal,
            verifiable=verifiable,
            prefilter=prefilter,
            memory=memory,
            name=name,
            params=params,
            shards=shards,
            record_bytes=record_bytes,
            force=force,
            tasks=None,
            progress=report,
        )
    return Built(path=os.fspath(out), **built)


class Bar:
    """A bar of tqdm for each stage, or the caller's function."""

    def __init__(self, progress: bool | ProgressFunction) -> None:
        self._function = None if isinstance(progress, bool) else progress
        self._wanted = progress is True
        self._stage = ""
        self._bar: Any = None

    def __enter__(self) -> ProgressFunction | None:
        if self._wanted:
            # Before the build: without tqdm its first report would end it.
            import tqdm.auto  # noqa: F401
        return self._show if self._wanted else self._function

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, stage: str, done: int, of: int) -> None:
        from tqdm.auto import tqdm

        if stage != self._stage:
            if self._bar is not None:
                self._bar.close()
            self._stage, self._bar = stage, tqdm(desc=stage, total=of or None)
        self._bar.update(done - self._bar.n)
