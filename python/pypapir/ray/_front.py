"""The service in front of the shards: Ray Serve receives, papir responds."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from ray import serve as ray_serve
from starlette.requests import Request
from starlette.responses import Response

from pypapir import _native
from pypapir.ray._shards import Shards

MOST_BYTES = 1 << 30
"""Most bytes of a request body; papir has lower limits of its own."""


class Front:
    """Responds to requests as `papir serve` does, with the answers of shards."""

    def __init__(self, name: str, shards: Shards, settings: Mapping[str, Any]) -> None:
        self._name = name
        self._shards = shards
        self._service = _native.DividedService(name, shards.path, shards.ask, **settings)

    async def __call__(self, request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                break
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        client = request.client.host if request.client else None
        status, headers, content = await self._service.respond(
            request.method, path, request.headers.raw, bytes(body), client
        )
        response = Response(content, status)
        response.raw_headers = headers
        return response

    def replace(self, shards: Shards) -> None:
        """Serves another version, which is answered by all of its shards. The one before is answered for a
        while."""
        self._service.replace(self._name, shards.path, shards.ask)
        self._shards = shards


FrontDeployment: Any = ray_serve.deployment(max_ongoing_requests=1024)(Front)


def serve(shards: Shards, *, name: str | None = None, port: int = 8000, **settings: Any) -> str:
    """Serves the database of shards with Ray Serve, and returns the address for clients.

    Args:
        shards: The actors.
        name: The database's name; by default the stem of its file.
        port: The port of Ray Serve, on loopback, unless Ray Serve runs already.
        settings: Those of `pypapir.serve`, except for TLS and the address, which are Ray Serve's.
    """
    ray_serve.start(http_options={"host": "127.0.0.1", "port": port})
    name = name or PurePath(shards.path).stem
    ray_serve.run(FrontDeployment.bind(name, shards, settings), name="papir", route_prefix="/")
    return f"http://127.0.0.1:{port}"
