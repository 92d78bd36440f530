"""Lookups in a service."""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._description import Described
from pypapir._keys import Key, as_bytes
from pypapir._options import ConnectOptions, addresses

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Client(Described[_native.Client]):
    """A private client of one database of a service. Leaving its context closes it.

    Its methods may be called from any thread, and wait for one another. A forked process needs its own.
    """

    def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent. The service learns nothing of the key."""
        return self._opened.get(as_bytes(key))

    def get_many(self, keys: Iterable[Key]) -> list[bytes | None]:
        """The values of several keys, in order. The service learns how many."""
        return self._opened.get_many([as_bytes(key) for key in keys])

    def get_index(self, index: int) -> bytes:
        """The record at an index."""
        return self.get_indices([index])[0]

    def get_indices(self, indices: Iterable[int]) -> list[bytes]:
        """The records at several indices, in order. The service learns how many."""
        return self._opened.get_indices(list(indices))

    def query_message(self, key: Key) -> bytes:
        """The query of one key as a short message, which any channel may carry to the operator of the database.

        `extract_message` decodes the answer, also in another process. Needs the option `known`, and a scheme whose
        clients register keys and use no tickets, such as `pirouette`. With a kept version it sends nothing. The
        lookup is stored before the query is returned; at most 64 wait for their answers.
        """
        return self._opened.query_message(as_bytes(key))

    def query_message_index(self, index: int) -> bytes:
        """The query of one index, as `query_message` of a key."""
        return self._opened.query_message_index(index)

    def close(self) -> None:
        """Closes the connections, after running lookups. All further calls are refused."""
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


def connect(url: str | Sequence[str], **options: "Unpack[ConnectOptions]") -> Client:
    """Connects to a database of a service, or of the first of several services that can be used.

    Of several services, all must have the same database, signed by the same owner or with the same root. While the
    one in use is away, behind or different, lookups go to the next one.

    Args:
        url: The address that `papir serve` prints, with or without `/v1/databases/NAME`, or several addresses.
        options: Those of `ConnectOptions`.

    Raises:
        NetworkError: The service cannot be reached, or refuses; of several services, all of them.
        TimeoutError: It took longer than the option `timeout`, which bounds each lookup, too.
        VerificationError: The database is not signed, or has another root, as the options demand.
        NotPrivateError: Its scheme hides nothing. No query was sent.
    """
    return Client(_native.connect(addresses(url), **options))


def extract_message(url: str, answer: bytes, **options: "Unpack[ConnectOptions]") -> bytes | None:
    """The value in the answer to a query of `Client.query_message`; None if the key is absent. Sends nothing.

    The lookup is removed before the answer is decoded, so that none is decoded twice.

    Args:
        url: The address of the query, which names the stored state.
        answer: The message of the operator.
        options: Those of the query.

    Raises:
        Error: No lookup waits for this answer: it is of another client, version or query, is damaged or truncated, or
            was decoded before. The code is `malformed`, and the lookups that wait are unchanged.
    """
    return _native.extract_message(url, answer, **options)
