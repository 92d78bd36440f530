"""Descriptions of databases."""

import json
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pypapir._closing import Closable


@dataclass(frozen=True)
class DatabaseInfo:
    """The service's description of a database. Lengths are in bytes."""

    name: str
    scheme: str
    version: str
    """16 hexadecimal digits; of the base, if changes are published beside it."""
    records: int
    """Number of records; in a keyed database, of buckets."""
    record_bits: int
    keyed: bool
    max_batch: int
    """Most queries in one request."""
    private: bool
    sizes: dict[str, int]
    """Bytes of a `query`, an `answer`, the `bundle` that a client fetches once, and others."""
    security_bits: float | None
    """None if there is no estimate."""
    failure_log2: float | None
    """log₂ of the probability that a lookup fails; None if it cannot."""
    parameters: dict[str, str]


@dataclass(frozen=True)
class Checkpoint:
    """The owner's statement about the version in use."""

    owner: str
    """The owner's public key."""
    sequence: int
    cosignatures: int
    """Number of known witnesses that have signed, too."""


@dataclass(frozen=True)
class Costs:
    """Costs of a client since it connected. Bytes are those of bodies."""

    public_bytes: int
    registration_bytes: int
    query_bytes: int
    answer_bytes: int
    requests: int
    fetch_s: float
    query_s: float
    round_trip_s: float
    extract_s: float


class Native(Protocol):
    """A client of the native part."""

    def describe(self) -> str: ...


N = TypeVar("N", bound=Native)


class Described(Closable[N]):
    """The properties of a client. They are those after its newest lookup, and ask the service nothing."""

    _what = "client"

    @property
    def info(self) -> DatabaseInfo:
        """The service's description of the database."""
        return DatabaseInfo(**json.loads(self._opened.describe())["info"])

    @property
    def version(self) -> str:
        """The version in use, 16 hexadecimal digits."""
        version: str = json.loads(self._opened.describe())["version"]
        return version

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint that the owner signed; None if the database is not signed."""
        checkpoint = json.loads(self._opened.describe())["checkpoint"]
        return Checkpoint(**checkpoint) if checkpoint else None

    @property
    def root(self) -> str | None:
        """The root of a verifiable database, 64 hexadecimal digits; None for others."""
        root: str | None = json.loads(self._opened.describe())["root"]
        return root

    @property
    def costs(self) -> Costs:
        """The costs since the connection."""
        return Costs(**json.loads(self._opened.describe())["costs"])
