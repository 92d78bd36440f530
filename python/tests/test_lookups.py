"""Builds and lookups, in one process and over a service."""

import asyncio
import gzip
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pypapir

WORDS = {f"word {i}": f"meaning {i}" for i in range(300)}


def check(path: Path) -> None:
    """The words are in a snapshot."""
    words = pypapir.open(path)
    assert words.get("word 7") == b"meaning 7"
    assert words.get(b"word 299") == b"meaning 299"
    assert words.get("absent") is None


@pytest.mark.parametrize(
    "table",
    [
        lambda columns: pa.table(columns),
        lambda columns: pa.table(columns).to_reader(max_chunksize=64),
        lambda columns: pd.DataFrame(columns),
        lambda columns: pl.DataFrame(columns),
        lambda columns: pa.table({**columns, "word": pa.array(columns["word"]).dictionary_encode()}),
        lambda columns: pa.table({**columns, "meaning": pa.array(columns["meaning"], pa.large_binary())}),
    ],
)
def test_tables_are_sources(table: Callable[[dict[str, list[str]]], Any], tmp_path: Path) -> None:
    columns = {"word": list(WORDS), "meaning": list(WORDS.values())}
    built = pypapir.build(table(columns), tmp_path / "w.papir", key="word", value="meaning", scheme="simple")
    assert (built.entries, built.scheme, built.name) == (300, "simple", "w")
    check(tmp_path / "w.papir")


def test_a_filter_of_keys_saves_requests(tmp_path: Path) -> None:
    pypapir.build(WORDS, tmp_path / "w.papir", scheme="simple", prefilter=20)
    check(tmp_path / "w.papir")
    with pypapir.serve(tmp_path / "w.papir") as service:
        client = pypapir.connect(service.url, cache=False)
        assert client.get_many(["absent", "word 7"]) == [None, b"meaning 7"]
        asked = client.costs.requests
        assert client.get("absent") is None
        assert client.costs.requests == asked

        ignoring = pypapir.connect(service.url, cache=False, prefilter=False)
        assert ignoring.get("absent") is None
        assert ignoring.costs.requests == 1

        hiding = pypapir.connect(service.url, cache=False, hide_times=True)
        with pytest.raises(pypapir.Error) as raised:
            hiding.get("word 7")
        assert raised.value.code == "unscheduled"
        with pypapir.schedule(service.url, every=0.05, batch=1, cache=False, hide_times=True) as schedule:
            assert schedule.get("absent") is None

    with pytest.raises(pypapir.Error, match="without keys"):
        pypapir.build(np.zeros((4, 2), dtype=np.uint8), tmp_path / "r.papir", prefilter=8)


@pytest.mark.parametrize("source", [WORDS, list(WORDS.items()), iter(WORDS.items())])
def test_pairs_are_sources(source: Any, tmp_path: Path) -> None:
    pypapir.build(source, tmp_path / "w.papir", scheme="simple")
    check(tmp_path / "w.papir")


def test_files_are_sources(tmp_path: Path) -> None:
    rows = "word,meaning\n" + "".join(f"{word},{meaning}\n" for word, meaning in WORDS.items())
    (tmp_path / "w.csv.gz").write_bytes(gzip.compress(rows.encode()))
    pypapir.build(tmp_path / "w.csv.gz", tmp_path / "w.papir", key="word", value="meaning", scheme="simple")
    check(tmp_path / "w.papir")


def test_several_values_become_a_json_object(tmp_path: Path) -> None:
    table = pa.table({"k": ["a"], "i": [7], "f": [0.5], "b": [True], "n": pa.nulls(1)})
    pypapir.build(table, tmp_path / "w.papir", key="k", value=["i", "f", "b", "n"], scheme="simple")
    assert pypapir.open(tmp_path / "w.papir").get("a") == b'{"i":7,"f":0.5,"b":true,"n":null}'


def test_arrays_are_records(tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 256, (1000, 32), dtype=np.uint8)
    built = pypapir.build(array, tmp_path / "a.papir", scheme="simple")
    assert (built.records, built.record_bits) == (1000, 256)
    assert pypapir.open(tmp_path / "a.papir").get_index(999) == array[999].tobytes()


def test_values_have_up_to_256_kib(tmp_path: Path) -> None:
    lengths = [65_535, 65_536, 65_537, 262_144]
    blocks = {f"block {length}": bytes(at % 251 for at in range(length)) for length in lengths}
    pypapir.build(blocks, tmp_path / "b.papir", scheme="download")
    opened = pypapir.open(tmp_path / "b.papir")
    for name, block in blocks.items():
        found = opened.get(name)
        assert found is not None
        assert len(found) == len(block)
        assert found == block
    with pytest.raises(pypapir.Error, match="262145 bytes: expected at most 262144"):
        pypapir.build({"long": bytes(262_145)}, tmp_path / "long.papir", scheme="download")


def test_faults_have_the_texts_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(pypapir.Error, match="no column `k`.*expected one of a") as raised:
        pypapir.build(pa.table({"a": ["x"]}), tmp_path / "w.papir", key="k")
    assert raised.value.code == "missing_column"
    with pytest.raises(pypapir.Error, match="unknown scheme `none`") as raised:
        pypapir.build(WORDS, tmp_path / "w.papir", scheme="none")
    assert raised.value.code == "unknown_scheme"
    with pytest.raises(pypapir.NotPrivateError):
        pypapir.build(WORDS, tmp_path / "w.papir", scheme="plain")
    with pytest.raises(TypeError, match="expected a path"):
        pypapir.build(7, tmp_path / "w.papir")
    with pytest.raises(pypapir.Error, match="type Duration"):
        pypapir.build(pa.table({"t": pa.array([0], pa.duration("s"))}), tmp_path / "w.papir", key="t")
    assert not (tmp_path / "w.papir").exists()


def test_progress_is_reported(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    pypapir.build(WORDS, tmp_path / "w.papir", scheme="simple", progress=lambda *step: seen.append(step))
    assert {"reading", "encode"} <= {stage for stage, _, _ in seen}


@pytest.fixture
def service(tmp_path: Path) -> Any:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="inspire")
    with pypapir.serve(tmp_path / "words.papir", keep_old=0) as service:
        yield service


def test_a_service_answers(service: pypapir.Service, tmp_path: Path) -> None:
    words = pypapir.connect(service.url, state=tmp_path / "state")
    assert words.get("word 7") == b"meaning 7"
    assert words.get_many(["word 1", b"absent", "word 2"]) == [b"meaning 1", None, b"meaning 2"]
    pypapir.build({"word 7": "another"}, tmp_path / "words.papir", scheme="inspire")
    service.reload()
    assert words.get("word 7") == b"another"


def test_coroutines(service: pypapir.Service, tmp_path: Path) -> None:
    async def look_up() -> list[bytes | None]:
        words = await pypapir.aio.connect(service.url, state=tmp_path / "state")
        return list(await asyncio.gather(words.get("word 1"), words.get("word 2"), words.get("absent")))

    assert asyncio.run(look_up()) == [b"meaning 1", b"meaning 2", None]


def test_every_option_is_accepted(tmp_path: Path) -> None:
    key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    options: pypapir.ConnectOptions = {
        "database": "words",
        "token": "secret",
        "insecure_http": True,
        "ca": None,
        "owner": key,
        "max_age": 60,
        "sequence": 1,
        "witnesses": [key],
        "cosignatures": 1,
        "pin": False,
        "root": "00" * 32,
        "state": tmp_path / "state",
        "passphrase": "secret",
        "cache": False,
        "known": True,
        "patches": "never",
        "prefilter": False,
        "hide_times": True,
        "owner_key": "papir-owner-key-1-" + "00" * 32,
        "allow_not_private": True,
        "proxy": "none",
        "relay": None,
        "ohttp_keys": None,
        "issuer": "https://issuer.example",
        "issuer_token": "secret",
        "max_download": 1 << 20,
        "patience": 0,
        "timeout": 60,
        "freshness": 5,
    }
    assert options.keys() == pypapir.ConnectOptions.__annotations__.keys()
    with pytest.raises(pypapir.NetworkError) as raised:
        pypapir.connect("http://127.0.0.1:9", **options)
    assert raised.value.code == "transport"
    with pytest.raises(pypapir.Error) as refused:
        pypapir.connect("https://127.0.0.1:9", ca=tmp_path / "none.pem")
    assert refused.value.code == "bad_ca"
    with pytest.raises(ValueError, match="auto, always or never"):
        pypapir.connect("http://127.0.0.1:9", patches="sometimes")  # type: ignore[arg-type]


def test_a_known_version_is_used_without_a_request(tmp_path: Path) -> None:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="simple")
    options: pypapir.ConnectOptions = {"known": True, "state": tmp_path / "state"}
    with pypapir.serve(tmp_path / "words.papir") as service:
        url = service.url
        with pypapir.connect(url, **options):
            pass
    # Nobody answers any more, and nothing is asked.
    with pypapir.connect(url, **options):
        pass
    with pytest.raises(pypapir.NetworkError):
        pypapir.connect(url, state=tmp_path / "state", patience=0)


def test_every_setting_is_accepted(tmp_path: Path) -> None:
    pypapir.build(WORDS, tmp_path / "words.papir", scheme="simple")
    settings: pypapir.ServeSettings = {
        "listen": "127.0.0.1:0",
        "threads": 1,
        "tokens": None,
        "tls_cert": None,
        "tls_key": None,
        "watch": 1,
        "keep_old": 1,
        "mapped": True,
        "metrics": False,
        "max_queued": 3,
        "allow_not_private": True,
    }
    assert settings.keys() == pypapir.ServeSettings.__annotations__.keys()
    with pypapir.serve(tmp_path / "words.papir", **settings) as service:
        assert pypapir.connect(service.url, state=tmp_path / "state").get("word 7") == b"meaning 7"
    with pytest.raises(ValueError, match="belong together"):
        pypapir.serve(tmp_path / "words.papir", tls_key=tmp_path / "none.pem")


def test_records_are_looked_up_by_index(tmp_path: Path) -> None:
    records = np.random.default_rng(2).integers(0, 256, (500, 8), dtype=np.uint8)
    pypapir.build(records, tmp_path / "records.papir", scheme="simple")
    with pypapir.serve(tmp_path / "records.papir") as service:
        client = pypapir.connect(service.url, state=tmp_path / "state")
        assert client.get_index(7) == records[7].tobytes()
        assert client.get_indices([499, 0]) == [records[499].tobytes(), records[0].tobytes()]

        async def look_up() -> list[bytes]:
            client = await pypapir.aio.connect(service.url, state=tmp_path / "state")
            return [await client.get_index(7), *await client.get_indices([8])]

        assert asyncio.run(look_up()) == [records[7].tobytes(), records[8].tobytes()]
        with pytest.raises(pypapir.VerificationError) as raised:
            pypapir.connect(service.url, state=tmp_path / "other", cosignatures=1)
        assert raised.value.code == "no_checkpoint"
        with pytest.raises(pypapir.Error, match="an owner's key"):
            pypapir.connect(service.url, owner_key="words.key")


def test_other_threads_run_during_a_lookup(service: pypapir.Service, tmp_path: Path) -> None:
    words = pypapir.connect(service.url, state=tmp_path / "state")
    counted = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.0001)

    counter = threading.Thread(target=count)
    counter.start()
    before = counted
    lookups = 0
    # Between two lookups, the other thread counts once at most. Only if it runs during them, too,
    # it gets ahead of them, on a busy machine after more of them.
    while counted - before <= 20 + lookups and lookups < 20_000:
        words.get("word 3")
        lookups += 1
    stop.set()
    counter.join()
    assert lookups < 20_000


def test_a_service_that_is_gone_is_a_network_error(tmp_path: Path) -> None:
    with pytest.raises(pypapir.NetworkError):
        pypapir.connect("http://127.0.0.1:9", state=tmp_path / "state", patience=0.1)
    with pytest.raises(TypeError, match="unknown option `tokn`"):
        pypapir.connect("http://127.0.0.1:9", tokn="x")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="negative"):
        pypapir.serve(watch=-1)


def test_a_silent_service_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(pypapir.TimeoutError, match=r"no result within 200ms") as raised:
            pypapir.connect(url, state=tmp_path / "state", timeout=0.2)
        assert raised.value.code == "timed_out"
        assert isinstance(raised.value, pypapir.NetworkError)
        assert isinstance(raised.value, TimeoutError)

        async def connect() -> None:
            await pypapir.aio.connect(url, state=tmp_path / "state", timeout=0.2)

        with pytest.raises(TimeoutError, match="no result within"):
            asyncio.run(connect())


@pytest.fixture
def control_c() -> Callable[[], None]:
    # A runner in the background ignores Ctrl-C, and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return lambda: signal.raise_signal(signal.SIGINT)


def test_control_c_ends_a_build(tmp_path: Path, control_c: Callable[[], None]) -> None:
    array = np.zeros((1 << 19, 256), dtype=np.uint8)
    stages: set[str] = set()

    def interrupt(stage: str, done: int, of: int) -> None:
        if stage == "encode" and stage not in stages:
            control_c()
        stages.add(stage)

    with pytest.raises(KeyboardInterrupt):
        pypapir.build(array, tmp_path / "a.papir", scheme="inspire", progress=interrupt)
    assert not list(tmp_path.iterdir())


def test_control_c_ends_a_wait(tmp_path: Path, control_c: Callable[[], None]) -> None:
    connections: list[tuple[float, socket.socket]] = []

    def interrupt() -> None:
        connection, _ = silent.accept()
        connections.append((time.monotonic(), connection))
        control_c()

    # It accepts a connection and never responds.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            pypapir.connect(f"http://127.0.0.1:{silent.getsockname()[1]}", state=tmp_path / "state")
    ((accepted, connection),) = connections
    connection.close()
    # A busy machine may take long, but a call that is not interrupted never ends.
    assert time.monotonic() - accepted < 300


def test_a_fork_is_told_to_connect_again(tmp_path: Path) -> None:
    program = """
import os, sys
import pypapir
pypapir.build({"a": "b"}, sys.argv[1])
with pypapir.serve(sys.argv[1]) as service:
    client = pypapir.connect(service.url, state=sys.argv[1] + ".state")
    if os.fork() == 0:
        try:
            client.get("a")
        except RuntimeError as error:
            code = 7 if "connect in each process" in str(error) else 1
            # A client that a fork drops leaves the parent its sockets.
            del client
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
    assert client.get("a") == b"b"
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "w.papir")], check=True, timeout=600)


def test_a_fork_works_on_threads_of_its_own(tmp_path: Path) -> None:
    program = """
import os, sys
import pypapir
one, two = sys.argv[1] + ".one.papir", sys.argv[1] + ".two.papir"
pypapir.build({"a": "b"}, one)
with pypapir.serve(one) as service:
    if os.fork() == 0:
        code = 1
        try:
            assert pypapir.open(one).get("a") == b"b"
            pypapir.build({str(i): "x" for i in range(1000)}, two)
            assert pypapir.connect(service.url).get("a") == b"b"
            pypapir.serve(one)
        except RuntimeError as error:
            code = 7 if "spawn" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "w")], check=True, timeout=600)


def test_schemes_by_their_operations() -> None:
    records = [bytes([i] * 16) for i in range(200)]
    assert "inspire" in pypapir.schemes()
    scheme = pypapir.Scheme("simple")
    prepared = scheme.setup(records)
    client = scheme.client(prepared.public)
    secret, query = client.query([42])
    answer = prepared.answer(query)
    description = prepared.describe()
    assert (len(query), len(answer)) == (description["query_bytes"], description["answer_bytes"])
    assert client.extract(secret, answer) == [records[42]]
    with pytest.raises(ValueError, match="the secret was used"):
        client.extract(secret, answer)
    with pytest.raises(pypapir.NotPrivateError):
        pypapir.Scheme("plain").setup(records)


def test_nothing_else_need_be_installed(tmp_path: Path) -> None:
    program = """
import sys
sys.modules.update(dict.fromkeys(["numpy", "pandas", "polars", "pyarrow", "tqdm"]))
import pypapir
pypapir.build({"a": "b"}, sys.argv[1])
with pypapir.serve(sys.argv[1]) as service:
    assert pypapir.connect(service.url, state=sys.argv[1] + ".state").get("a") == b"b"
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "w.papir")], check=True)


def test_a_column_named_key_is_no_key_unless_asked_for(tmp_path: Path) -> None:
    table = pa.table({"key": ["a"], "value": ["b"]})
    with pytest.raises(pypapir.Error, match="without columns"):
        pypapir.build(table, tmp_path / "w.papir", scheme="simple")


def test_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pypapir.Error, match="surrogates"):
        pypapir.build({"\ud800": "x"}, tmp_path / "w.papir", scheme="simple")
