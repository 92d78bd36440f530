"""A cluster of Ray on one machine, and what its tests share."""

import functools
import shlex
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import serve as ray_serve

import pypapir

PATIENCE = 600
"""Seconds for what takes some on an idle machine."""
READERS = ("StreamingExecutor", "ray-data-metadata-prefetch")
"""Beginnings of the names of threads in which Ray Data reads."""


def patiently(get_node: Callable[..., Any], address: str, node: str) -> Any:
    """Asks for a node until it has registered: Ray's own 30 seconds are too few on a busy machine."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return get_node(address, node)
        except RuntimeError:
            if time.monotonic() > end:
                raise

        time.sleep(0.5)


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    # Names of sockets must be short, and /tmp/ray may be another user's.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    # Ray passes the interpreter of an actor of Ray Serve to a shell as it is.
    quoted = shlex.quote(sys.executable)
    with pytest.MonkeyPatch.context() as patch:
        for module in ["api", "client"]:
            patch.setattr(f"ray.serve._private.{module}.HTTP_PROXY_TIMEOUT", PATIENCE)
        asked = functools.partial(patiently, ray._private.services.get_node)
        patch.setattr("ray._private.services.get_node", asked)

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


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    """A port that no other program gets before Ray Serve listens there: it shares ports with its own user."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ray") / "words.papir"
    pypapir.build({f"word {i}": f"meaning {i}" * 40 for i in range(4000)}, path, scheme="simple")
    return path
