"""A database on several machines: here, four actors of one."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray import serve as ray_serve

import pypapir
import pypapir.ray

PORT = 18273


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False)
    yield
    ray_serve.shutdown()  # type: ignore[no-untyped-call]
    ray.shutdown()


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ray") / "words.papir"
    pypapir.build({f"word {i}": f"meaning {i}" * 40 for i in range(4000)}, path, scheme="simple")
    return path


@pytest.mark.usefixtures("cluster")
def test_clients_look_up_and_an_actor_may_be_killed(snapshot: Path, tmp_path: Path) -> None:
    shards = pypapir.ray.Shards(snapshot, 4, options={"num_cpus": 0.5})
    assert len(shards.actors) == 4
    url = pypapir.ray.serve(shards, port=PORT)
    words = pypapir.connect(url, state=tmp_path / "state")
    assert words.get("word 3999") == b"meaning 3999" * 40
    assert words.get("absent") is None
    before: list[int] = ray.get([actor.process.remote() for actor in shards.actors])
    os.kill(before[1], signal.SIGKILL)
    start = time.monotonic()
    for i in range(20):
        assert words.get(f"word {i}") == f"meaning {i}".encode() * 40
    print(f"20 lookups, {time.monotonic() - start:.1f} s after an actor was killed")
    after: list[int] = ray.get([actor.process.remote() for actor in shards.actors])
    assert after[1] != before[1] and after[0] == before[0]
    shards.close()


@pytest.mark.usefixtures("cluster")
def test_shards_that_do_not_exist_are_refused(snapshot: Path) -> None:
    with pytest.raises(pypapir.Error, match="the number of slices"):
        pypapir.ray.Shards(snapshot, 10_000)
