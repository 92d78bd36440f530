"""Keys as bytes."""

from typing import TypeAlias

Key: TypeAlias = bytes | str
"""A key: bytes, or text in UTF-8."""


def as_bytes(key: Key) -> bytes:
    """The bytes of a key."""
    return key.encode() if isinstance(key, str) else key
