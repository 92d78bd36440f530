"""Actors that have the slices of a snapshot."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import ray

from pypapir import _native

PATIENCE = 30.0
"""Seconds after which an actor that has not answered counts as away."""

NAMESPACE = "papir"
"""Ray's namespace of the actors."""


class Slices:
    """Some slices of a snapshot, in an actor."""

    def __init__(self, path: str, version: str, start: int, end: int) -> None:
        context: Any = ray.get_runtime_context()
        processors = context.get_assigned_resources().get("CPU", 0)
        self._shard = _native.Shard(path, start, end, max(1, int(processors)))
        if self._shard.version != version:
            raise _native.Error(f"{path} has version {self._shard.version}: expected {version}")

    def opened(self) -> bool:
        """True once the slices are open."""
        return True

    def partials(self, queries: list[bytes]) -> list[bytes]:
        """Partial answers to queries, in order."""
        return self._shard.partials(queries)

    def process(self) -> int:
        """The id of its process."""
        return os.getpid()


ShardActor: Any = ray.remote(max_restarts=-1)(Slices)
"""Ray starts an actor again that dies, and it opens its slices again."""


@dataclass(frozen=True)
class Place:
    """Where the actors of a version are."""

    path: str
    """The snapshot, on a file system that all machines have."""
    version: str
    parts: list[tuple[int, int]]
    """The first slice of each part, and the one after its last."""
    replicas: int

    def name(self, part: tuple[int, int], replica: int) -> str:
        """The name of an actor."""
        return f"{self.version}/{part[0]}-{part[1]}/{replica}"

    def as_json(self) -> dict[str, Any]:
        """As JSON, of which `from_json` makes it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, place: Mapping[str, Any]) -> "Place":
        """A place of `as_json`."""
        return cls(**{**place, "parts": [(start, end) for start, end in place["parts"]]})


class Shards:
    """The actors of all slices of one version, one or more for each part.

    Every query goes to every part, whatever it is; of several actors with the same part, the turn decides.
    """

    def __init__(self, place: Place) -> None:
        """Finds actors that `start` started.

        Raises:
            ValueError: There is none of that name.
        """

        def find(part: tuple[int, int], replica: int) -> Any:
            return ray.get_actor(place.name(part, replica), namespace=NAMESPACE)

        self.place = place
        self._actors = [[find(part, replica) for replica in range(place.replicas)] for part in place.parts]
        self._turn = 0

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        shards: int,
        *,
        replicas: int = 1,
        options: Mapping[str, Any] | None = None,
        patience: float = 600.0,
    ) -> "Shards":
        """Starts `shards` × `replicas` actors, or finds those of the same version that were started before.
        They stay until they are closed.

        Args:
            path: The snapshot, on a file system that all machines have.
            shards: Number of parts.
            replicas: Actors for each part.
            options: Options of each actor, such as `num_cpus`, `resources` or `scheduling_strategy`. An actor
                answers on as many threads as it has processors.
            patience: Seconds in which all actors must have opened their slices.

        Raises:
            Error: The snapshot cannot be divided so, or actors do not start in time.
            ray.exceptions.RayError: An actor cannot open its slices; the message says why.
        """
        version, parts = _native.slices(path, shards)
        place = Place(os.fspath(path), version, parts, replicas)
        started = [
            ShardActor.options(
                **{"num_cpus": 1, **(options or {})},
                name=place.name(part, replica),
                namespace=NAMESPACE,
                lifetime="detached",
                get_if_exists=True,
            ).remote(place.path, version, *part)
            for part in parts
            for replica in range(replicas)
        ]
        opened = [actor.opened.remote() for actor in started]
        _, waiting = ray.wait(opened, num_returns=len(opened), timeout=patience)
        if waiting:
            raise _native.Error(
                f"{len(waiting)} of {len(opened)} actors have not started in {patience:.0f} s: expected as many "
                "processors, and what `options` asks for, in the cluster"
            )
        ray.get(opened)
        return cls(place)

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
