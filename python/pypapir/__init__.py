"""Look up a record without telling the server which one.

>>> import pypapir
>>> pypapir.build({"apple": "a fruit"}, out="words.papir")
>>> with pypapir.serve("words.papir") as service:
...     pypapir.connect(service.url).get("apple")
b'a fruit'
"""

from pypapir import aio
from pypapir._benching import Bench, Measurement, bench
from pypapir._building import Built, build
from pypapir._client import Client, connect, extract_message
from pypapir._database import Database, open
from pypapir._description import Checkpoint, Costs, DatabaseInfo
from pypapir._native import (
    Error,
    NetworkError,
    NotPrivateError,
    Prepared,
    Scheme,
    SchemeClient,
    Secret,
    TimeoutError,
    UnsupportedError,
    VerificationError,
    __version__,
    schemes,
)
from pypapir._options import ConnectOptions, ServeSettings
from pypapir._planning import DividedPlan, LeftOut, Offer, Plan, ShardOffer, plan
from pypapir._scheduled import Scheduled, schedule
from pypapir._service import Service, serve

__all__ = [
    "Bench",
    "Built",
    "Checkpoint",
    "Client",
    "ConnectOptions",
    "Costs",
    "Database",
    "DatabaseInfo",
    "DividedPlan",
    "Error",
    "LeftOut",
    "Measurement",
    "NetworkError",
    "NotPrivateError",
    "Offer",
    "Plan",
    "Prepared",
    "Scheduled",
    "Scheme",
    "SchemeClient",
    "Secret",
    "ServeSettings",
    "Service",
    "ShardOffer",
    "TimeoutError",
    "UnsupportedError",
    "VerificationError",
    "__version__",
    "aio",
    "bench",
    "build",
    "connect",
    "extract_message",
    "open",
    "plan",
    "schedule",
    "schemes",
    "serve",
]
