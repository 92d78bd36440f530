"""Actors that have the slices of a snapshot."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import ray

from pypapir import _native

PATIENCE = 30.0
"""Seconds after which an actor that has not answered counts as away."""


NAMESPACE = "papir"
"""Ray's namespace of the actors."""


class Slices:
    """Some slices of a snapshot, in an actor."""

    def __init__(self, path: str, start: int, end: int) -> None:
        self._shard = _native.Shard(path, start, end)

    def version(self) -> str:
        """The version of the slices."""
        return self._shard.version

    def partials(self, queries: list[bytes]) -> list[bytes]:
        """Partial answers to queries, in order."""
        return self._shard.partials(queries)

    def process(self) -> int:
        """The id of its process."""
        return os.getpid()


ShardActor: Any = ray.remote(max_restarts=-1)(Slices)
"""Ray starts an actor again that dies, and it opens its slices again."""


class Shards:
    """The actors of all slices of one version, one or more for each part.

    Every query goes to every part, whatever it is; of several actors with the same part, the turn decides.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        shards: int,
        *,
        replicas: int = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Starts `shards` × `replicas` actors, or finds those of the same version that were started before.
        They stay until they are closed.

        Args:
            path: The snapshot, on a file system that all machines have.
            shards: Number of parts.
            replicas: Actors for each part.
            options: Options of each actor, such as `num_cpus`, `resources` or `scheduling_strategy`.

        Raises:
            Error: The snapshot cannot be divided so, or the actors do not have the same version.
        """
        self.path = os.fspath(path)
        version, parts = _native.slices(self.path, shards)

        def start(part: tuple[int, int], replica: int) -> Any:
            place = {"name": f"{version}/{part[0]}-{part[1]}/{replica}", "namespace": NAMESPACE}
            found = {"lifetime": "detached", "get_if_exists": True}
            actor = ShardActor.options(**{"num_cpus": 1, **(options or {}), **place, **found})
            return actor.remote(self.path, *part)

        self._actors = [[start(part, replica) for replica in range(replicas)] for part in parts]
        self._turn = 0
        versions = set(ray.get([one.version.remote() for one in self.actors]))
        if versions != {version}:
            raise _native.Error(f"shards of versions {', '.join(sorted(versions))}: expected {version}")
        self.version = version

    @property
    def actors(self) -> Sequence[Any]:
        """All actors, part after part."""
        return [one for of_part in self._actors for one in of_part]

    def ask(self, queries: list[bytes]) -> list[list[bytes]]:
        """The partial answers of each part to queries. The queries are put into the object store once.

        Raises:
            ray.exceptions.RayError: An actor is away. The same queries may be sent again.
        """
        self._turn += 1
        sent = ray.put(queries)
        asked = [of_part[self._turn % len(of_part)].partials.remote(sent) for of_part in self._actors]
        answered: list[list[bytes]] = ray.get(asked, timeout=PATIENCE)
        return answered

    def close(self) -> None:
        """Ends all actors."""
        for one in self.actors:
            ray.kill(one)
