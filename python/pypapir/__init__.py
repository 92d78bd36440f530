"""Look up a record without telling the server which one.

>>> import pypapir
>>> pypapir.build({"apple": "a fruit"}, out="words.papir")
>>> with pypapir.serve("words.papir") as service:
...     pypapir.connect(service.url).get("apple")
b'a fruit'
"""

from pypapir import aio
from pypapir._building import Built, build
from pypapir._client import Client, connect
from pypapir._database import Database, open
from pypapir._native import (
    Error,
    NetworkError,
    NotPrivateError,
    Prepared,
    Scheme,
    SchemeClient,
    Secret,
    schemes,
)
from pypapir._service import Service, serve

__all__ = [
    "Built",
    "Client",
    "Database",
    "Error",
    "NetworkError",
    "NotPrivateError",
    "Prepared",
    "Scheme",
    "SchemeClient",
    "Secret",
    "Service",
    "aio",
    "build",
    "connect",
    "open",
    "schemes",
    "serve",
]
