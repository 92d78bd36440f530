"""A database on several machines: here, four actors of one."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import ray

import pypapir
import pypapir.ray

PATIENCE = 600
"""Seconds for what takes some on an idle machine."""


@pytest.mark.usefixtures("cluster")
def test_clients_look_up_and_an_actor_may_be_killed(snapshot: Path, port: int, tmp_path: Path) -> None:
    shards = pypapir.ray.Shards.start(snapshot, 4, options={"num_cpus": 0.5})
    assert len(shards.actors) == 4
    url = pypapir.ray.serve(shards, port=port, keep_old=3600)
    words = pypapir.connect(url, state=tmp_path / "state", patience=PATIENCE)
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
    versions_switch(shards, snapshot, port, words)


def versions_switch(old: pypapir.ray.Shards, snapshot: Path, port: int, connected: pypapir.Client) -> None:
    """Another version is served by other shards under the same name, while the one before is answered."""
    newer = snapshot.with_name("newer.papir")
    pypapir.build({f"word {i}": f"other {i}" * 40 for i in range(4000)}, newer, scheme="simple")
    new = pypapir.ray.Shards.start(newer, 2, options={"num_cpus": 0.5})
    url = pypapir.ray.serve(new, name="words", port=port, keep_old=3600)
    fresh = pypapir.connect(url, cache=False)
    assert fresh.get("word 3999") == b"other 3999" * 40
    publish_delta(newer, "word 3999,changed")
    end = time.monotonic() + PATIENCE
    while pypapir.connect(url, cache=False).get("word 3999") != b"changed":
        assert time.monotonic() < end
        time.sleep(0.2)
    assert connected.get("word 3999") == b"meaning 3999" * 40, "of its version"
    # What is served stays, and the rest is closed when its time has come.
    keeper = pypapir.ray._keeper.keeper()
    assert not ray.get(keeper.close_later.remote(new.place.as_json(), 0.0))
    assert ray.get(keeper.close_later.remote(old.place.as_json(), 0.0))
    with pytest.raises(ValueError, match="Failed to look up"):
        pypapir.ray.Shards(old.place)
    with pytest.raises(ValueError, match="tls_cert: expected"):
        pypapir.ray.serve(new, name="words", port=port, tls_cert="cert.pem")
    new.close()


def publish_delta(snapshot: Path, row: str) -> None:
    """Publishes a change beside a snapshot."""
    changes = snapshot.with_name("changes.csv")
    changes.write_text(f"word,meaning\n{row}\n")
    of = ["--from", str(changes), "--key", "word", "--value", "meaning"]
    subprocess.run([os.environ["PAPIR"], "update", str(snapshot), "--delta", *of], check=True)


@pytest.mark.usefixtures("cluster")
def test_a_replica_answers_for_one_that_is_killed(snapshot: Path, port: int) -> None:
    shards = pypapir.ray.Shards.start(snapshot, 2, replicas=2, options={"num_cpus": 0.25})
    url = pypapir.ray.serve(shards, name="replicated", port=port, keep_old=0)
    # It gives up at the first refusal.
    words = pypapir.connect(url, patience=0)
    assert words.get("word 1") == b"meaning 1" * 40
    os.kill(ray.get(shards.actors[1].process.remote()), signal.SIGKILL)
    for i in range(8):
        assert words.get(f"word {i}") == f"meaning {i}".encode() * 40
    shards.close()


@pytest.mark.usefixtures("cluster")
def test_a_file_with_another_version_is_not_opened(snapshot: Path) -> None:
    _, parts = pypapir._native.slices(snapshot, 2)
    actor = pypapir.ray._shards.ShardActor.options(num_cpus=0.5, max_restarts=0)
    with pytest.raises(ray.exceptions.RayError, match="expected 0123456789abcdef"):
        ray.get(actor.remote(str(snapshot), "0123456789abcdef", *parts[0]).opened.remote())


@pytest.mark.usefixtures("cluster")
def test_shards_without_room_are_reported(snapshot: Path) -> None:
    with pytest.raises(pypapir.Error, match="2 of 2 actors have not started"):
        pypapir.ray.Shards.start(snapshot, 2, options={"num_cpus": 64}, patience=2)
    # Nothing is left that would keep a second attempt from starting.
    pypapir.ray.Shards.start(snapshot, 2, options={"num_cpus": 0.5}).close()


@pytest.mark.usefixtures("cluster")
def test_shards_that_do_not_exist_are_refused(snapshot: Path) -> None:
    with pytest.raises(pypapir.Error, match="the number of slices"):
        pypapir.ray.Shards.start(snapshot, 10_000)
