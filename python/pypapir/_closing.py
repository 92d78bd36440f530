"""Objects of the native part that are freed before Python would free them."""

from typing import Generic, TypeVar

from pypapir import _native

T = TypeVar("T")


class Closable(Generic[T]):
    """Has an object of the native part until it is closed."""

    _what = "object"
    """The name of such an object in errors."""

    def __init__(self, native: T) -> None:
        self._native: T | None = native

    @property
    def _opened(self) -> T:
        """The object.

        Raises:
            Error: It was closed; the code is `closed`.
        """
        # Read once: another thread may close it meanwhile.
        native = self._native
        if native is None:
            error = _native.Error(f"the {self._what} is closed: expected an open one")
            error.code = "closed"
            raise error
        return native

    def _close(self) -> None:
        """Drops the object, which calls that are under way still use."""
        self._native = None
