"""One database on four actors of Ray, one of which is killed: run by `make demo-ray`."""

import csv
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import ray

import pypapir
import pypapir.ray

SHARDS = 4
LOOKUPS = 12
PATIENCE = 30.0
"""Seconds in which a change must be answered."""


def main(program: str, source: Path) -> None:
    with source.open(newline="") as file:
        rows = list(csv.DictReader(file))
    key, value = rows[0].keys()
    expected = {row[key]: row[value] for row in rows}
    # Ray names its sockets in it: another folder's name may be too long. Some of its processes end last.
    with (
        tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder,
        socket.socket() as held,
    ):
        # Nobody else gets this port. Ray Serve shares it.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        table = Path(folder) / "passwords.parquet"
        pq.write_table(pa.Table.from_pylist(rows), table)
        print(f"{len(rows)} rows in {table.name}")
        built = pypapir.build(table, Path(folder) / "passwords.papir", key=key, value=value, shards=SHARDS)
        print(f"{built.scheme}, version {built.version}: {built.snapshot_bytes >> 20} MiB")

        # Ray passes the interpreter of an actor of Ray Serve to a shell as it is.
        quoted = shlex.quote(sys.executable)
        ray.init(
            address="local",
            num_cpus=SHARDS + 2,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"py_executable": quoted} if quoted != sys.executable else None,
            _temp_dir=folder,
        )
        shards = pypapir.ray.Shards.start(built.path, SHARDS)
        processes = ray.get([actor.process.remote() for actor in shards.actors])
        url = pypapir.ray.serve(shards, port=held.getsockname()[1])
        print(f"{SHARDS} shards in processes {processes}, served at {url}")

        keys = [row[key] for row in rows[:: len(rows) // LOOKUPS]][:LOOKUPS]
        look_up(program, url, keys[:4], expected)

        print(f"process {processes[1]} is killed")
        killed = time.monotonic()
        whole = threading.Thread(target=wait_until_whole, args=(shards, processes[1], killed))
        os.kill(processes[1], signal.SIGKILL)
        whole.start()
        look_up(program, url, keys[4:], expected)
        whole.join()
        now = ray.get([actor.process.remote() for actor in shards.actors])
        assert len(set(now)) == SHARDS and processes[1] not in now
        change(program, Path(built.path), url, (key, keys[0]), value)
        shards.close()
        ray.shutdown()
    print(f"The service is whole again: {SHARDS} of {SHARDS} shards, and all {LOOKUPS} lookups were right.")


def look_up(program: str, url: str, keys: list[str], expected: dict[str, str]) -> None:
    """Looks keys up by the program, one by one."""
    for key in keys:
        start = time.monotonic()
        found = subprocess.run([program, "get", url, "--", key], check=True, capture_output=True, text=True)
        assert found.stdout.rstrip("\n") == expected[key], (key, found.stdout)
        print(f"  papir get {url} {key}: {found.stdout.strip()}  ({time.monotonic() - start:.2f} s)")


def change(program: str, snapshot: Path, url: str, of: tuple[str, str], value: str) -> None:
    """Publishes a change as a delta, and waits until the service answers it."""
    column, key = of
    changes = snapshot.with_name("changes.csv")
    changes.write_text(f"{column},{value}\n{key},changed\n")
    subprocess.run([program, "update", snapshot, "--delta", "--from", changes], check=True, capture_output=True)
    published = time.monotonic()
    while True:
        found = subprocess.run([program, "get", url, "--", key], check=True, capture_output=True, text=True)
        if found.stdout.strip() == "changed":
            print(f"a change of {key} is answered {time.monotonic() - published:.1f} s after its delta")
            return
        assert time.monotonic() - published < PATIENCE, found.stdout
        time.sleep(0.2)


def wait_until_whole(shards: pypapir.ray.Shards, gone: int, killed: float) -> None:
    """Says how long the killed actor was away."""
    while True:
        try:
            if ray.get(shards.actors[1].process.remote()) != gone:
                print(f"its shard is back after {time.monotonic() - killed:.1f} s")
                return
        except ray.exceptions.RayActorError:
            time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
