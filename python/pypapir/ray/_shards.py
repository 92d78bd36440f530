"""Actors that have the slices of a snapshot."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import ray
from ray.exceptions import ObjectLostError, RayActorError

from pypapir import _native

PATIENCE = 30.0
"""Seconds after which the actors of a part that have not answered count as away."""

NAMESPACE = "papir"
"""Ray's namespace of the actors."""


class ShardsAwayError(Exception):
    """All actors of a part are away. The same queries may be sent again."""


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
    """Location of a version's actors."""

    path: str
    """The snapshot, on a file system that all machines have."""
    version: str
    parts: list[tuple[int, int]]
    """The first slice of each part, and the one after its last."""
    replicas: int

    def name(self, part: tuple[int, int], replica: int) -> str:
        """The name of an actor."""
        return f"{self.version}/{part[0]}-{part[1]}/{replica}"

    def names(self) -> list[list[str]]:
        """The names of the actors of each part."""
        return [[self.name(part, replica) for replica in range(self.replicas)] for part in self.parts]

    def as_json(self) -> dict[str, Any]:
        """Returns JSON for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, place: Mapping[str, Any]) -> "Place":
        """Parses the result of `as_json`."""
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
        self.place = place
        self._actors = [[ray.get_actor(name, namespace=NAMESPACE) for name in names] for names in place.names()]
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
            # Otherwise a later attempt would find them, with these options.
            for actor, answer in zip(started, opened, strict=True):
                if answer in waiting:
                    ray.kill(actor)
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
        """The partial answers of each part to queries. The queries are put into the object store once, and
        go to another replica of a part whose actor is away.

        Raises:
            ShardsAwayError: All actors of a part are away.
        """
        self._turn += 1
        turn, sent = self._turn, ray.put(queries)
        answers: dict[int, list[bytes]] = {}
        for attempt in range(self.place.replicas):
            asked: dict[int, Any] = {
                part: actors[(turn + attempt) % len(actors)].partials.remote(sent)
                for part, actors in enumerate(self._actors)
                if part not in answers
            }
            timeout = PATIENCE / self.place.replicas
            _, late = ray.wait(list(asked.values()), num_returns=len(asked), timeout=timeout)
            for part, answer in asked.items():
                if answer in late:
                    ray.cancel(answer)
                    continue
                try:
                    answers[part] = ray.get(answer)
                except (RayActorError, ObjectLostError):
                    continue
            if len(answers) == len(self._actors):
                return [answers[part] for part in range(len(self._actors))]
        raise ShardsAwayError

    def close(self) -> None:
        """Ends all actors."""
        close(self.place)


def close(place: Place) -> None:
    """Ends all actors of a version that there are."""
    for name in [name for names in place.names() for name in names]:
        try:
            ray.kill(ray.get_actor(name, namespace=NAMESPACE))
        except ValueError:
            continue
