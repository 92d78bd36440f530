"""Keys as bytes."""

import operator
from typing import SupportsIndex, TypeAlias

Key: TypeAlias = bytes | str | int
"""A key: bytes, text in UTF-8, or an integer, which stands for its decimal digits."""


def as_bytes(key: bytes | str | SupportsIndex) -> bytes:
    """The bytes of a key, as a build stores it.

    Raises:
        TypeError: The key has another type.
    """
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes | bytearray | memoryview):
        return bytes(key)
    if isinstance(key, bool):
        return b"true" if key else b"false"
    try:
        return str(operator.index(key)).encode()
    except TypeError:
        raise TypeError(f"found a key of type {type(key).__name__}: expected bytes, str or int") from None
