"""The service in front of the shards: Ray Serve receives, papir responds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ray import serve as ray_serve
from starlette.requests import Request
from starlette.responses import Response

from pypapir import _native
from pypapir.ray._keeper import APPLICATION, keeper, served
from pypapir.ray._shards import Place, Shards

KEEP_OLD = 600.0
"""Seconds for which the version before is still answered, unless `keep_old` says otherwise."""

MARGIN = 10.0
"""Seconds after which no front answers the version before, besides twice that time."""

OF_RAY = {"listen", "mapped", "tls_cert", "tls_key", "watch"}
"""Settings of `pypapir.serve` that are Ray Serve's here, or mean nothing."""


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
        self._served = {"name": name, "place": place}
        version, _ = _native.slices(place["path"], 1)
        if version != place["version"]:
            found = f"{place['path']} has version {version}"
            raise _native.Error(f"{found}: expected {place['version']}, which the shards have: deploy it again")
        shards, old = Shards(Place.from_json(place)), _answered(former, settings["keep_old"])
        first = old or shards
        self._service = _native.DividedService(name, first.place.path, first.ask, **settings)
        if old is not None:
            self._service.replace(name, shards.place.path, shards.ask)

    async def served(self) -> Mapping[str, Any]:
        """The name and the place of what is served."""
        return self._served

    async def __call__(self, request: Request) -> Response:
        body, most = bytearray(), self._service.most_bytes
        async for part in request.stream():
            body += part
            if len(body) > most:
                break
        # Starlette has decoded it.
        path = quote(request.url.path) + (f"?{request.url.query}" if request.url.query else "")
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
    place = Place.from_json(former.place)
    if _native.slices(place.path, 1)[0] != place.version:
        # Its file was replaced.
        return None
    try:
        return Shards(place)
    except ValueError:
        # They were closed.
        return None


def deployment(shards: Shards, name: str | None, fronts: int, settings: Mapping[str, Any]) -> Any:
    """The application that serves shards, and for a while those of the version that is served now."""
    if wrong := OF_RAY & settings.keys():
        raise ValueError(f"{', '.join(sorted(wrong))}: expected settings of papir, not those of Ray Serve")
    settings = {"keep_old": KEEP_OLD, **{name: one for name, one in settings.items() if one is not None}}
    name = name or PurePath(shards.place.path).stem
    place, before, former = shards.place.as_json(), served(), None
    if before is not None and before["place"] != place:
        now = time.time()
        if before["name"] == name:
            former = Former(before["place"], now)
        # A front that starts in `keep_old` answers the version before for as long.
        keeper().close_later.remote(before["place"], now + 2 * settings["keep_old"] + MARGIN)
    # All fronts of a new version start before those of the one before end.
    options = {"num_replicas": fronts, "max_surge_percent": 100}
    return FrontDeployment.options(**options).bind(name, settings, place, former)


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
    seconds more, and its actors end after twice that time. Give the same name.

    Args:
        shards: The actors.
        name: The database's name; by default the stem of its file.
        host: The address of Ray Serve, unless it runs already.
        port: The port of Ray Serve, unless it runs already.
        fronts: Number of processes that respond to clients.
        settings: Those of `pypapir.serve`, except for TLS, the address and files, which are Ray Serve's. Limits
            are those of each process.

    Raises:
        ValueError: A setting is Ray Serve's.
    """
    ray_serve.start(http_options={"host": host, "port": port})
    ray_serve.run(deployment(shards, name, fronts, settings), name=APPLICATION, route_prefix="/")
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"


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
