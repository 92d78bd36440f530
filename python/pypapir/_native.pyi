import builtins
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

__version__: str

class Error(Exception):
    code: str | None

class NetworkError(Error): ...
class TimeoutError(NetworkError, builtins.TimeoutError): ...
class VerificationError(Error): ...
class NotPrivateError(Error): ...
class UnsupportedError(Error): ...

def build(
    source: object,
    out: str | os.PathLike[str],
    *,
    form: dict[str, Any],
    key: str | None,
    values: list[str],
    scheme: str | None,
    clients_may_see: str | None,
    goal: str | None,
    verifiable: bool,
    prefilter: int | None,
    memory: int | None,
    name: str | None,
    params: str | None,
    shards: int | None,
    record_bytes: int | None,
    force: bool,
    tasks: tuple[
        int, Callable[[str], Iterator[str | None]] | None, Callable[[str, int, int], Iterator[tuple[str, int, int]]]
    ]
    | None,
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...

def plan(source: object, requirements: dict[str, Any]) -> str: ...
def bench(
    schemes: Sequence[str],
    measured: dict[str, Any],
    progress: Callable[[str, int, int], None] | None,
) -> tuple[str, list[tuple[str, str]]]: ...

class Database:
    scheme: str
    version: str
    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...
    def get_indices(self, indices: Sequence[int]) -> list[bytes]: ...

def open(path: str | os.PathLike[str]) -> Database: ...

class Client:
    def get(self, key: bytes) -> bytes | None: ...
    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]: ...
    def get_indices(self, indices: Sequence[int]) -> list[bytes]: ...
    def query_message(self, key: bytes) -> bytes: ...
    def query_message_index(self, index: int) -> bytes: ...
    def describe(self) -> str: ...

def connect(urls: list[str], **arguments: Any) -> Client: ...

class AsyncClient:
    def get(self, key: bytes) -> Awaitable[bytes | None]: ...
    def get_many(self, keys: Sequence[bytes]) -> Awaitable[list[bytes | None]]: ...
    def get_indices(self, indices: Sequence[int]) -> Awaitable[list[bytes]]: ...
    def query_message(self, key: bytes) -> Awaitable[bytes]: ...
    def query_message_index(self, index: int) -> Awaitable[bytes]: ...
    def describe(self) -> str: ...

def connect_async(urls: list[str], **arguments: Any) -> Awaitable[AsyncClient]: ...
def extract_message(url: str, answer: bytes, **arguments: Any) -> bytes | None: ...
def extract_message_async(url: str, answer: bytes, **arguments: Any) -> Awaitable[bytes | None]: ...

class Scheduled:
    waiting: int
    def submit_key(self, key: bytes, future: Future[Any]) -> None: ...
    def submit_index(self, index: int, future: Future[Any]) -> None: ...
    def close(self) -> None: ...

def schedule(url: str, every: float, batch: int, **arguments: Any) -> Scheduled: ...
def schedule_async(url: str, every: float, batch: int, **arguments: Any) -> Awaitable[Scheduled]: ...

class Service:
    url: str
    def reload(self) -> None: ...
    def close(self) -> None: ...

def serve(snapshots: Sequence[str | os.PathLike[str]], **arguments: Any) -> Service: ...
def schemes() -> list[str]: ...

class Scheme:
    """A scheme by name, for research: setup, query, answer and extract as bytes and objects."""

    def __init__(self, name: str, *, allow_not_private: bool = False) -> None: ...
    name: str
    def setup(self, records: Sequence[bytes], *, goal: str | None = None) -> Prepared:
        """Prepares records of one length."""

    def client(self, public: bytes) -> SchemeClient:
        """A client from a public part."""

class Prepared:
    """A prepared database."""

    public: bytes
    def answer(self, query: bytes) -> bytes:
        """Answers a query."""

    def describe(self) -> dict[str, Any]:
        """Sizes, security and parameters."""

class SchemeClient:
    """A client of a prepared database."""

    def query(self, indices: Sequence[int]) -> tuple[Secret, bytes]:
        """A fresh secret and a query for these indices."""

    def extract(self, secret: Secret, answer: bytes) -> list[bytes]:
        """The records of an answer. The secret is used up."""

class Secret:
    """The secret of one query."""

def slices(path: str | os.PathLike[str], shards: int) -> tuple[str, list[tuple[int, int]]]: ...

class Shard:
    version: str
    def __init__(
        self, path: str | os.PathLike[str], start: int, end: int, threads: int | None = None
    ) -> None: ...
    def partials(self, queries: Sequence[bytes]) -> list[bytes]: ...

class DividedService:
    most_bytes: int
    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str],
        ask: Callable[[list[bytes]], list[list[bytes]]],
        **arguments: Any,
    ) -> None: ...
    def replace(
        self,
        name: str,
        path: str | os.PathLike[str],
        ask: Callable[[list[bytes]], list[list[bytes]]],
    ) -> None: ...
    def respond(
        self,
        method: str,
        path: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        client: str | None,
    ) -> Awaitable[tuple[int, list[tuple[bytes, bytes]], bytes]]: ...

def add_rows(folder: str, name: str, rows: object) -> None: ...
def encode_task(folder: str, task: int, threads: int) -> None: ...
def prepare_task(folder: str, task: int, threads: int) -> None: ...
