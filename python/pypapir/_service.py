"""A service in this process."""

import os
from types import TracebackType
from typing import TYPE_CHECKING

from pypapir import _native
from pypapir._options import ServeSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Service:
    """A running service, as of `papir serve`. Leaving its context stops it."""

    def __init__(self, native: _native.Service) -> None:
        self._native = native

    @property
    def url(self) -> str:
        """The address for clients."""
        return self._native.url

    def reload(self) -> None:
        """Loads all snapshots again. Their earlier versions are answered for a while."""
        self._native.reload()

    def close(self) -> None:
        """Stops the service, after its running requests."""
        self._native.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def serve(*snapshots: str | os.PathLike[str], **settings: "Unpack[ServeSettings]") -> Service:
    """Serves snapshot files from this process, on loopback unless told otherwise.

    Args:
        snapshots: The files. Each is served under its stem.
        settings: Those of `ServeSettings`.
    """
    return Service(_native.serve(list(snapshots), **settings))
