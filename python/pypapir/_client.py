"""Lookups in a service."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._keys import Key, as_bytes
from pypapir._options import ConnectOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Client:
    """A private client of one database of a service.

    Its methods may be called from any thread, and wait for one another. A forked process needs its own.
    """

    def __init__(self, native: _native.Client) -> None:
        self._native = native

    def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent. The service learns nothing of the key."""
        return self._native.get(as_bytes(key))

    def get_many(self, keys: Iterable[Key]) -> list[bytes | None]:
        """The values of several keys, in order. The service learns how many."""
        return self._native.get_many([as_bytes(key) for key in keys])

    def get_index(self, index: int) -> bytes:
        """The record at an index."""
        return self.get_indices([index])[0]

    def get_indices(self, indices: Iterable[int]) -> list[bytes]:
        """The records at several indices, in order. The service learns how many."""
        return self._native.get_indices(list(indices))


def connect(url: str, **options: "Unpack[ConnectOptions]") -> Client:
    """Connects to a database of a service.

    Args:
        url: The address that `papir serve` prints, with or without `/v1/databases/NAME`.
        options: Those of `ConnectOptions`.

    Raises:
        NetworkError: The service cannot be reached, or refuses.
        VerificationError: The database is not signed, or has another root, as the options demand.
        NotPrivateError: Its scheme hides nothing. No query was sent.
    """
    return Client(_native.connect(url, **options))
