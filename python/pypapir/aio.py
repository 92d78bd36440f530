"""Lookups in a service, as coroutines."""

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._description import Described
from pypapir._keys import Key, as_bytes
from pypapir._options import ConnectOptions, addresses
from pypapir._scheduled import Submitting

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Client(Described[_native.AsyncClient]):
    """`pypapir.Client` with coroutines. One that is cancelled leaves no state half written. Leaving its context,
    by `async with`, closes it."""

    async def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent. The service learns nothing of the key."""
        return await self._opened.get(as_bytes(key))

    async def get_many(self, keys: Iterable[Key]) -> list[bytes | None]:
        """The values of several keys, in order. The service learns how many."""
        return await self._opened.get_many([as_bytes(key) for key in keys])

    async def get_index(self, index: int) -> bytes:
        """The record at an index."""
        return (await self.get_indices([index]))[0]

    async def get_indices(self, indices: Iterable[int]) -> list[bytes]:
        """The records at several indices, in order. The service learns how many."""
        return await self._opened.get_indices(list(indices))

    async def query_message(self, key: Key) -> bytes:
        """The query of one key as a short message; see `pypapir.Client.query_message`."""
        return await self._opened.query_message(as_bytes(key))

    async def query_message_index(self, index: int) -> bytes:
        """The query of one index, as `query_message` of a key."""
        return await self._opened.query_message_index(index)

    async def close(self) -> None:
        """Closes the connections, after running lookups. All further calls are refused."""
        self._close()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


async def connect(url: str | Sequence[str], **options: "Unpack[ConnectOptions]") -> Client:
    """Connects to a database of a service, or of the first of several; see `pypapir.connect`."""
    return Client(await _native.connect_async(addresses(url), **options))


async def extract_message(url: str, answer: bytes, **options: "Unpack[ConnectOptions]") -> bytes | None:
    """The value in the answer to a query of `Client.query_message`; see `pypapir.extract_message`."""
    return await _native.extract_message_async(url, answer, **options)


class Scheduled(Submitting):
    """`pypapir.Scheduled` with coroutines. Leaving its context, by `async with`, closes it."""

    async def get(self, key: Key) -> bytes | None:
        """The value of a key; None if it is absent. It is sent in the next slot that has a free place."""
        return await asyncio.wrap_future(self.submit(key))

    async def get_index(self, index: int) -> bytes:
        """The record at an index. It is sent in the next slot that has a free place."""
        return await asyncio.wrap_future(self.submit_index(index))

    async def close(self) -> None:
        """Ends the schedule. Lookups that wait for a slot fail; a request under way still gets its values."""
        self._end()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


async def schedule(url: str, *, every: float, batch: int, **options: "Unpack[ConnectOptions]") -> Scheduled:
    """Connects to a database of a service, and looks up at fixed times; see `pypapir.schedule`."""
    return Scheduled(await _native.schedule_async(url, every, batch, **options))
