"""A database on several machines: here, four actors of one."""

import importlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
import ray.data
import yaml
from ray import serve as ray_serve

import pypapir
import pypapir.ray

DEPLOY = Path(__file__).parents[1] / "deploy"
PATIENCE = 600
"""Seconds for what takes some on an idle machine."""
READERS = ("StreamingExecutor", "ray-data-metadata-prefetch")
"""Beginnings of the names of threads in which Ray Data reads."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    # Names of sockets must be short, and /tmp/ray may be another user's.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    # Ray passes the interpreter of an actor of Ray Serve to a shell as it is.
    quoted = shlex.quote(sys.executable)
    with pytest.MonkeyPatch.context() as patch:
        for module in ["api", "client"]:
            patch.setattr(f"ray.serve._private.{module}.HTTP_PROXY_TIMEOUT", PATIENCE)
        ray.init(
            address="local",
            num_cpus=8,
            object_store_memory=256 << 20,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"py_executable": quoted} if quoted != sys.executable else None,
            _temp_dir=folder,
        )
        yield
        ray_serve.shutdown()  # type: ignore[no-untyped-call]
        # A reading that was interrupted ends in a thread of its own. If it asked Ray for anything
        # after this process has left, Ray would end the process without a word.
        for thread in threading.enumerate():
            if thread.name.startswith(READERS):
                thread.join(60)
        ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port that no other program gets before Ray Serve listens there: it shares ports with its own user."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ray") / "words.papir"
    pypapir.build({f"word {i}": f"meaning {i}" * 40 for i in range(4000)}, path, scheme="simple")
    return path


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


def test_the_manifest_names_an_application() -> None:
    manifest = yaml.safe_load((DEPLOY / "rayservice.yaml").read_text())
    config = yaml.safe_load(manifest["spec"]["serveConfigV2"])
    (application,) = config["applications"]
    assert application["name"] == pypapir.ray._keeper.APPLICATION
    module, name = application["import_path"].split(":")
    assert getattr(importlib.import_module(module), name) is pypapir.ray.application
    with pytest.raises(pypapir.Error, match="words.papir"):
        pypapir.ray.application(application["args"])
    with pytest.raises(ValueError, match="shard: expected"):
        pypapir.ray.application({"path": "words.papir", "shard": 2})


@pytest.mark.usefixtures("cluster")
def test_shards_that_do_not_exist_are_refused(snapshot: Path) -> None:
    with pytest.raises(pypapir.Error, match="the number of slices"):
        pypapir.ray.Shards.start(snapshot, 10_000)


@pytest.mark.usefixtures("cluster")
def test_tasks_build_a_snapshot_from_a_dataset(tmp_path: Path) -> None:
    rows, parts = 200_000, 4
    for part in range(parts):
        numbers = range(part, rows, parts)
        table = pa.table({"word": [f"word {i}" for i in numbers], "meaning": [f"{i:0250d}" for i in numbers]})
        pq.write_table(table, tmp_path / f"words-{part}.parquet")
    paths = [str(tmp_path / f"words-{part}.parquet") for part in range(parts)]
    out = tmp_path / "words.papir"
    stages: set[str] = set()

    def seen(stage: str, done: int, of: int) -> None:
        stages.add(stage)

    columns: dict[str, Any] = {"key": "word", "value": "meaning", "memory": 400 << 20}
    built = pypapir.ray.build(paths, out, shards=2, options={"num_cpus": 0.5}, progress=seen, **columns)
    assert (built.entries, built.scheme) == (rows, "inspire")
    assert {"reading", "encode", "pack"} <= stages
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("words")] == []
    shards = pypapir.ray.Shards.start(out, 2, options={"num_cpus": 0.5})
    shards.close()
    opened = pypapir.open(out)
    assert opened.get("word 199999") == f"{199999:0250d}".encode()
    assert opened.get("absent") is None
    again = str(tmp_path / "words-again.parquet")
    pq.write_table(pq.read_table(paths[0]), again)
    with pytest.raises(pypapir.Error, match="row 200001: the key `word 0` was already in row 1"):
        pypapir.ray.build([*paths, again], out, shards=2, **columns)
    with pytest.raises(pypapir.Error, match="no column `nothing`: expected one of word"):
        pypapir.ray.build(paths, out, shards=2, key="word", value="nothing")
    with pytest.raises(pypapir.Error, match="the number of shards is 1000: expected 1 to"):
        pypapir.ray.build(paths, out, shards=1000, **columns)
    with pytest.raises(pypapir.Error, match="tasks for simple: expected inspire"):
        pypapir.ray.build(ray.data.read_parquet(paths), out, shards=2, scheme="simple", **columns)


@pytest.mark.usefixtures("cluster")
def test_records_by_index_have_the_order_of_the_rows(tmp_path: Path) -> None:
    def late(block: pa.Table) -> pa.Table:
        # The first rows come last.
        time.sleep(1 if block["number"][0].as_py() == 0 else 0)
        return block.append_column("value", pa.array([f"{i.as_py():0300d}" for i in block["number"]]))

    count = 40_000
    numbers = ray.data.from_items([{"number": i} for i in range(count)], override_num_blocks=4)
    rows = numbers.map_batches(late, batch_size=None, batch_format="pyarrow")
    out = tmp_path / "numbers.papir"
    pypapir.ray.build(rows, out, shards=1, value="value", memory=400 << 20)
    opened = pypapir.open(out)
    for i in [0, 9_999, 10_000, count - 1]:
        assert opened.get_index(i) == f"{i:0300d}".encode()
    assert not rows.context.execution_options.preserve_order


@pytest.mark.usefixtures("cluster")
def test_one_large_block_of_pandas_is_read_in_parts(tmp_path: Path) -> None:
    # More than a task partitions at a time.
    count = 100_000
    frame = pd.DataFrame({"word": [f"word {i}" for i in range(count)], "meaning": ["x" * 300] * count})
    rows = ray.data.from_pandas([frame])
    out = tmp_path / "words.papir"
    columns: dict[str, Any] = {"key": "word", "value": "meaning", "memory": 400 << 20}
    built = pypapir.ray.build(rows, out, shards=1, **columns)
    assert built.entries == count
    assert pypapir.open(out).get(f"word {count - 1}") == b"x" * 300


@pytest.mark.usefixtures("cluster")
def test_control_c_ends_the_reading(tmp_path: Path) -> None:
    read, stuck = tmp_path / "read", tmp_path / "stuck"

    def slow(block: pa.Table) -> pa.Table:
        # The first time, for the schema, it is fast.
        if read.exists():
            stuck.touch()
            time.sleep(PATIENCE)
        read.touch()
        return block

    word = ray.data.from_items([{"word": "a", "meaning": "b"}])
    rows = word.map_batches(slow, batch_size=None, batch_format="pyarrow")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupted: list[float] = []

    def interrupt() -> None:
        while not stuck.exists():
            time.sleep(0.1)
        interrupted.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        pypapir.ray.build(rows, tmp_path / "w.papir", shards=1, key="word", value="meaning")
    assert time.monotonic() - interrupted[0] < 120
    assert set(tmp_path.iterdir()) == {read, stuck}
