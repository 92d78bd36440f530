"""Lookups in one process."""

import os
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._closing import Closable
from pypapir._keys import Key, as_bytes

if TYPE_CHECKING:
    from typing_extensions import Self


class Database(Closable[_native.Database]):
    """A snapshot, with a client of its own. Queries and answers stay in this process. Leaving its context closes
    it."""

    _what = "database"

    @property
    def scheme(self) -> str:
        """The scheme's name."""
        return self._opened.scheme

    @property
    def version(self) -> str:
        """The version, 16 hexadecimal digits."""
        return self._opened.version

    def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent."""
        return self.get_many([key])[0]

    def get_many(self, keys: Iterable[Key]) -> list[bytes | None]:
        """The values of several keys, in order."""
        return self._opened.get_many([as_bytes(key) for key in keys])

    def get_index(self, index: int) -> bytes:
        """The record at an index."""
        return self.get_indices([index])[0]

    def get_indices(self, indices: Iterable[int]) -> list[bytes]:
        """The records at several indices, in order."""
        return self._opened.get_indices(list(indices))

    def close(self) -> None:
        """Frees the memory of the database, after running lookups. All further calls are refused."""
        self._close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open(path: str | os.PathLike[str]) -> Database:
    """Opens a snapshot file."""
    return Database(_native.open(path))
