"""Ends the actors of versions that are not served any more."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import ray
from ray import serve as ray_serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException

from pypapir import _native
from pypapir.ray._shards import NAMESPACE, PATIENCE, Place, close

APPLICATION = "papir"
"""The name of the application in Ray Serve."""


class Keeper:
    """Closes versions when their time has come: one actor for the cluster."""

    async def close_later(self, place: Mapping[str, Any], when: float) -> bool:
        """Closes a version at `when`, in seconds since 1970, unless it is served again. Returns whether it
        did."""
        await asyncio.sleep(max(0.0, when - time.time()))
        return await asyncio.to_thread(close_unless_served, Place.from_json(place))


KeeperActor: Any = ray.remote(num_cpus=0, max_restarts=-1)(Keeper)


def keeper() -> Any:
    """The keeper of the cluster."""
    options = {"name": "keeper", "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
    return KeeperActor.options(**options).remote()


def served() -> Mapping[str, Any] | None:
    """Returns the name and the place of the version that is served now; None if there is none.

    Raises:
        Error: The application does not respond.
    """
    try:
        handle = ray_serve.get_app_handle(APPLICATION)
    except RayServeException:
        return None
    try:
        found: Mapping[str, Any] = handle.served.remote().result(timeout_s=PATIENCE)
    except (RayError, RayServeException, TimeoutError) as error:
        raise _native.Error(
            f"the application `{APPLICATION}` does not respond: delete it (ray.serve.delete), and serve again"
        ) from error
    return found


def close_unless_served(place: Place) -> bool:
    """Closes a version, unless its actors are those that are served."""
    now = served()
    if now is not None and Place.from_json(now["place"]) == place:
        return False
    close(place)
    return True
