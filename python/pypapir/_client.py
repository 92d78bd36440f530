"""Lookups in a service."""

from collections.abc import Iterable
from typing import Any

from pypapir import _native
from pypapir._keys import Key, as_bytes


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
        return self._native.get_index(index)


def connect(url: str, **options: Any) -> Client:
    """Connects to a database of a service.

    Args:
        url: The address that `papir serve` prints, with or without `/v1/databases/NAME`.
        options: `database`, `token`, `owner` (the public key that must have signed the database), `root`,
            `ca`, `state` (the directory of registered clients), `cache`, `insecure_http`,
            `allow_not_private`, `patience` (seconds for which a busy service is tried again) and
            `freshness` (seconds after which a lookup first asks for a newer version, if changes of the
            database are published beside it; 10 by default).

    Raises:
        NetworkError: The service cannot be reached, or refuses.
        NotPrivateError: Its scheme hides nothing. No query was sent.
    """
    return Client(_native.connect(url, **options))
