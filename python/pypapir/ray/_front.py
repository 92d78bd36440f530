"""The service in front of the shards: Ray Serve receives, papir responds."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ray import serve as ray_serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from starlette.requests import Request
from starlette.responses import Response

from pypapir import _native
from pypapir.ray._shards import PATIENCE, Place, Shards

KEEP_OLD = 600.0
"""Seconds for which the version before is still answered, unless `keep_old` says otherwise."""

APPLICATION = "papir"
"""The name of the application in Ray Serve."""


@dataclass(frozen=True)
class Former:
    """The version that was served before."""

    place: Mapping[str, Any]
    replaced: float
    """When, in seconds since 1970."""


class Front:
    """Responds to requests as `papir serve` does, with the answers of shards."""

    def __init__(
        self, name: str, settings: Mapping[str, Any], place: Mapping[str, Any], former: Former | None
    ) -> None:
        self._place = place
        settings = {"keep_old": KEEP_OLD, **settings}
        shards, keep_old = Shards(Place.from_json(place)), settings["keep_old"]
        old = _answered(former, keep_old)
        first = old or shards
        self._service = _native.DividedService(name, first.place.path, first.ask, **settings)
        self._closing: asyncio.Task[None] | None = None
        if old is not None and former is not None:
            self._service.replace(name, shards.place.path, shards.ask)
            # Fronts that start until then answer it, each for as long.
            until = former.replaced + 2 * keep_old
            self._closing = asyncio.get_running_loop().create_task(_close(old, until))

    async def place(self) -> Mapping[str, Any]:
        """The place of the version that is served."""
        return self._place

    async def __call__(self, request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self._service.most_bytes:
                break
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        client = request.client.host if request.client else None
        status, headers, content = await self._service.respond(
            request.method, path, request.headers.raw, bytes(body), client
        )
        response = Response(content, status)
        response.raw_headers = headers
        return response


FrontDeployment: Any = ray_serve.deployment(max_ongoing_requests=1024)(Front)


def _answered(former: Former | None, keep_old: float) -> Shards | None:
    """The shards of the version before, if it is still answered."""
    if former is None or time.time() > former.replaced + keep_old:
        return None
    try:
        return Shards(Place.from_json(former.place))
    except ValueError:
        # Somebody has closed them.
        return None


async def _close(shards: Shards, until: float) -> None:
    await asyncio.sleep(until - time.time())
    shards.close()


def deployment(shards: Shards, name: str | None, fronts: int, settings: Mapping[str, Any]) -> Any:
    """The application that serves shards, and for a while those of the version that is served now."""
    place, before = shards.place.as_json(), _served()
    replaced = before is not None and before["version"] != place["version"]
    former = Former(before, time.time()) if replaced and before is not None else None
    # All fronts of a new version start before those of the one before end.
    options = {"num_replicas": fronts, "max_surge_percent": 100}
    name = name or PurePath(shards.place.path).stem
    return FrontDeployment.options(**options).bind(name, dict(settings), place, former)


def _served() -> Mapping[str, Any] | None:
    """The place of the version that is served now."""
    try:
        handle = ray_serve.get_app_handle(APPLICATION)
        place: Mapping[str, Any] = handle.place.remote().result(timeout_s=PATIENCE)
    except (RayServeException, RayError, TimeoutError):
        return None
    return place


def serve(
    shards: Shards,
    *,
    name: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    fronts: int = 1,
    **settings: Any,
) -> str:
    """Serves the database of shards with Ray Serve, and returns the address for clients.

    A second call with the shards of another version moves to it: the version before is answered for `keep_old`
    seconds more, and its actors end after twice that time.

    Args:
        shards: The actors.
        name: The database's name; by default the stem of its file.
        host: The address of Ray Serve, unless it runs already.
        port: The port of Ray Serve, unless it runs already.
        fronts: Number of processes that respond to clients.
        settings: Those of `pypapir.serve`, except for TLS and the address, which are Ray Serve's. Limits are
            those of each process.
    """
    ray_serve.start(http_options={"host": host, "port": port})
    ray_serve.run(deployment(shards, name, fronts, settings), name=APPLICATION, route_prefix="/")
    return f"http://{host}:{port}"


def application(arguments: Mapping[str, Any]) -> Any:
    """The application for a configuration of Ray Serve (`import_path: pypapir.ray:application`), as of KubeRay.
    Its name must be `papir`, so that a new version finds the one before.

    Args:
        arguments: `path` and `shards` of `Shards.start`, and optionally its `replicas` and `options`; `name`,
            `fronts` and `settings` of `serve`.
    """
    known = {"path", "shards", "replicas", "options", "name", "fronts", "settings"}
    if unknown := set(arguments) - known:
        raise ValueError(f"{', '.join(sorted(unknown))}: expected {', '.join(sorted(known))}")
    chosen = {name: arguments[name] for name in ("replicas", "options") if name in arguments}
    shards = Shards.start(arguments["path"], int(arguments["shards"]), **chosen)
    settings = arguments.get("settings", {})
    return deployment(shards, arguments.get("name"), int(arguments.get("fronts", 1)), settings)
