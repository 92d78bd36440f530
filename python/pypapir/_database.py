"""Lookups in one process."""

import os

from pypapir import _native
from pypapir._keys import Key, as_bytes


class Database:
    """A snapshot, with a client of its own. Queries and answers stay in this process."""

    def __init__(self, native: _native.Database) -> None:
        self._native = native

    @property
    def scheme(self) -> str:
        """The scheme's name."""
        return self._native.scheme

    @property
    def version(self) -> str:
        """The version, 16 hexadecimal digits."""
        return self._native.version

    def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent."""
        return self._native.get(as_bytes(key))

    def get_index(self, index: int) -> bytes:
        """The record at an index."""
        return self._native.get_index(index)


def open(path: str | os.PathLike[str]) -> Database:
    """Opens a snapshot file."""
    return Database(_native.open(path))
