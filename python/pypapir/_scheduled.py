"""Lookups at fixed times in a service."""

from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._closing import Closable
from pypapir._keys import Key, as_bytes
from pypapir._options import ConnectOptions

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Submitting(Closable[_native.Scheduled]):
    """A schedule to which any thread submits lookups."""

    _what = "schedule"

    def submit(self, key: Key) -> "Future[bytes | None]":
        """The value of a key, later; None if it is absent. It is sent in the next slot that has a free place."""
        future: Future[bytes | None] = Future()
        # What is submitted cannot be cancelled: its slot is sent in any case.
        future.set_running_or_notify_cancel()
        self._opened.submit_key(as_bytes(key), future)
        return future

    def submit_index(self, index: int) -> "Future[bytes]":
        """The record at an index, later. An index beyond the last record fails once its request is answered."""
        future: Future[bytes] = Future()
        future.set_running_or_notify_cancel()
        self._opened.submit_index(index, future)
        return future

    @property
    def waiting(self) -> int:
        """The number of lookups that wait for a slot. At most 1,000 may wait."""
        return self._opened.waiting

    def _end(self) -> None:
        native = self._native
        self._close()
        # A call that is under way may still hold it.
        if native is not None:
            native.close()


class Scheduled(Submitting):
    """A running schedule of lookups in one database of a service. Leaving its context closes it.

    Its methods may be called from any thread. A forked process needs its own.
    """

    def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent. Waits for the next slot that has a free place."""
        return self.submit(key).result()

    def get_index(self, index: int) -> bytes:
        """The record at an index. Waits for the next slot that has a free place."""
        return self.submit_index(index).result()

    def close(self) -> None:
        """Ends the schedule. Lookups that wait for a slot fail; a request under way still gets its values."""
        self._end()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def schedule(url: str, *, every: float, batch: int, **options: "Unpack[ConnectOptions]") -> Scheduled:
    """Connects to a database of a service, and looks up at fixed times.

    Every `every` seconds one request of `batch` lookups is sent: those that were submitted, and lookups of random
    keys or indices in all other places. When and how much is sent does not depend on what is looked up, or how often.
    If a request takes longer than `every`, the times that it misses are skipped.

    Args:
        url: The address that `papir serve` prints, with or without `/v1/databases/NAME`.
        every: The time between two requests, in seconds.
        batch: The number of lookups in each request.
        options: Those of `ConnectOptions`. The option `timeout` bounds each request.

    Raises:
        NotPrivateError: Its scheme hides nothing, even if that is allowed.
        Error: The time or the batch is out of bounds; the code is `schedule`.
        NetworkError: As of `connect`, whose other errors are raised, too.
    """
    return Scheduled(_native.schedule(url, every, batch, **options))
