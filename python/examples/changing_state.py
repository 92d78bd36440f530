"""Measures lookups while the database changes: whether they are right, how soon a change is answered, and
how much memory the service takes.

    python changing_state.py run WORK_FOLDER --papir target/release/papir --keys 50000000 --minutes 30
    python changing_state.py draw WORK_FOLDER/record.json figure.svg

`run` builds a database, starts `papir serve --follow`, appends changes of random keys, and writes what it
sees to `record.json`. `draw` needs matplotlib.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pypapir

CLIENTS = 4
DELTA = "16MiB"
KEEP_OLD = 24
RECENT = 20_000
"""Changed keys among which every second lookup chooses."""
TOLERANCE = KEEP_OLD + 60.0
"""A value is right if it was the key's at most this many seconds before its lookup began: a change waits for
its version, and the version before is kept."""
PATIENCE = 600.0
"""Seconds in which the service must listen, and must answer the last batch."""


class State:
    """All values that each key has had since the start."""

    def __init__(self, keys: int, changes: TextIO) -> None:
        self.keys = keys
        self._changes = changes
        self._history: dict[int, list[tuple[float, bytes]]] = {}
        self._lock = threading.Lock()
        self._recent: list[int] = []

    @staticmethod
    def name(key: int) -> bytes:
        return b"k%d" % key

    @staticmethod
    def first(key: int) -> bytes:
        return b"%064d" % key

    def change(self, number: int, keys: list[int]) -> tuple[int, int, float]:
        """Appends a batch of changes, by its number from 1. Returns its last key, its number and its time."""
        rows, now = [], time.time()
        with self._lock:
            for key in keys:
                value = b"%020d%044d" % (number, key)
                self._history.setdefault(key, []).append((now, value))
                rows.append(f"{self.name(key).decode()},{value.decode()}\n")
            self._recent = (keys + self._recent)[:RECENT]
        self._changes.write("".join(rows))
        self._changes.flush()
        return keys[-1], number, now

    def pick(self, rng: random.Random) -> int:
        """A key to look up: every second one has changed lately."""
        with self._lock:
            if self._recent and rng.random() < 0.5:
                return rng.choice(self._recent)
        return rng.randrange(1, self.keys + 1)

    def is_right(self, key: int, value: bytes | None, began: float, most: float) -> bool:
        """Whether the key had this value at most `most` seconds before the lookup began."""
        with self._lock:
            values = [(0.0, self.first(key)), *self._history.get(key, [])]
        ends = [time for time, _ in values[1:]] + [float("inf")]
        return any(had == value and end > began - most for (_, had), end in zip(values, ends, strict=True))


class Record:
    """What a run saw. Times are seconds since its start."""

    def __init__(self) -> None:
        self.start = time.time()
        self.lookups: list[tuple[float, float]] = []
        self.wrong: list[str] = []
        self.errors: list[str] = []
        self.fresh: list[tuple[float, float]] = []
        self.memory: list[tuple[float, int]] = []


def look_up(url: str, state: State, record: Record, seed: int, stopped: threading.Event) -> None:
    """Looks keys up over one connection until the run stops."""
    rng, client = random.Random(seed), pypapir.connect(url)
    while not stopped.is_set():
        key, began = state.pick(rng), time.time()
        try:
            value = client.get(state.name(key))
        except pypapir.Error as error:
            record.errors.append(repr(error))
            continue
        record.lookups.append((began - record.start, time.time() - began))
        if not state.is_right(key, value, began, TOLERANCE):
            record.wrong.append(repr((key, value)))


def probe(
    url: str, changes: list[tuple[int, int, float]], record: Record, stopped: threading.Event
) -> None:
    """Looks up the last key of each batch over fresh connections until the batch is answered."""
    answered = 0
    while not stopped.is_set():
        if answered == len(changes):
            time.sleep(0.05)
            continue
        key, number, changed = changes[answered]
        try:
            value = pypapir.connect(url).get(State.name(key))
        except pypapir.Error as error:
            record.errors.append(repr(error))
            continue
        if value is not None and value != State.first(key) and int(value[:20]) >= number:
            record.fresh.append((changed - record.start, time.time() - changed))
            answered += 1


def watch_memory(process: int, record: Record, stopped: threading.Event) -> None:
    """Notes the service's own memory in MiB, besides mapped files, at least once."""
    while True:
        status = Path(f"/proc/{process}/status").read_text()
        kib = re.search(r"RssAnon:\s+(\d+)", status)
        record.memory.append((time.time() - record.start, int(kib[1]) // 1024 if kib else 0))
        if stopped.wait(2):
            return


def build(folder: Path, papir: str, keys: int) -> Path:
    """The database before any change."""
    source, out = folder / "state.csv", folder / "state.papir"
    with source.open("w") as file:
        file.write("key,value\n")
        file.writelines(f"k{key},{key:064d}\n" for key in range(1, keys + 1))
    options = ["--key", "key", "--value", "value", "--scheme", "inspire", "--memory", "2GiB"]
    subprocess.run([papir, "build", source, *options, "--out", out], check=True)
    source.unlink()
    return out


def wait_until(condition: Callable[[], bool], service: subprocess.Popen[bytes], log: Path) -> None:
    """Waits for what the service does, unless it ends or takes too long."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if service.poll() is not None:
            sys.exit(f"the service has ended with code {service.returncode}: see {log}")
        if time.monotonic() > end:
            sys.exit(f"the service has taken more than {PATIENCE:.0f} s: see {log}")
        time.sleep(0.05)


def address(log: Path) -> str:
    """The address that the service has printed; empty before it is ready."""
    printed = re.search(r"^listening on (\S+)\n", log.read_text(), re.MULTILINE)
    return printed[1] if printed else ""


def change(
    arguments: argparse.Namespace, state: State, record: Record, made: list[tuple[int, int, float]]
) -> None:
    """Appends batches of changes until the time is over."""
    rng = random.Random(1)
    for number in range(1, int(arguments.minutes * 60 / arguments.every) + 1):
        time.sleep(max(0.0, record.start + number * arguments.every - time.time()))
        made.append(state.change(number, rng.sample(range(1, arguments.keys + 1), arguments.changes)))


def run(arguments: argparse.Namespace) -> None:
    folder, papir = arguments.folder, arguments.papir
    folder.mkdir(parents=True, exist_ok=True)
    database = build(folder, papir, arguments.keys)
    changes, log = folder / "changes.csv", folder / "serve.log"
    stopped = threading.Event()
    threads: list[threading.Thread] = []
    with changes.open("w") as file, log.open("w") as output:
        file.write("key,value\n")
        file.flush()
        follow = ["--follow", changes, "--merge-at", "75", "--delta-bytes", DELTA]
        listen = ["--listen", "127.0.0.1:0", "--keep-old", f"{KEEP_OLD}s"]
        service = subprocess.Popen([papir, "serve", database, *follow, *listen], stdout=output, stderr=output)
        try:
            wait_until(lambda: address(log) != "", service, log)
            url, state, record = address(log), State(arguments.keys, file), Record()
            made: list[tuple[int, int, float]] = []
            workers: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
                *((look_up, (url, state, record, seed, stopped)) for seed in range(CLIENTS)),
                (probe, (url, made, record, stopped)),
                (watch_memory, (service.pid, record, stopped)),
            ]
            threads += [threading.Thread(target=work, args=given) for work, given in workers]
            for thread in threads:
                thread.start()
            change(arguments, state, record, made)
            wait_until(lambda: len(record.fresh) == len(made) and record.lookups != [], service, log)
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
            service.terminate()
            service.wait()

    (folder / "record.json").write_text(json.dumps(vars(record)))
    report(vars(record))


def report(record: dict[str, Any]) -> None:
    def middle(values: list[float]) -> str:
        ordered = sorted(values)
        at = [ordered[int(len(ordered) * part)] for part in (0.5, 0.95)]
        return f"median {at[0]:.2f} s, p95 {at[1]:.2f} s, longest {ordered[-1]:.2f} s"

    print(f"{len(record['lookups'])} lookups, {len(record['wrong'])} wrong, {len(record['errors'])} errors")
    print("lookups:", middle([taken for _, taken in record["lookups"]]))
    print("from a change to its answer:", middle([taken for _, taken in record["fresh"]]))
    memory = [used for _, used in record["memory"]]
    print(f"memory: {memory[0]} MiB at first, {memory[-1]} MiB at last, at most {max(memory)} MiB")


def draw(arguments: argparse.Namespace) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    record = json.loads(arguments.record.read_text())
    # The same bytes for the same record.
    plt.rcParams["svg.hashsalt"] = "papir"
    figure, axes = plt.subplots(3, sharex=True, figsize=(8, 6), layout="constrained")
    lookups = record["lookups"][:: max(1, len(record["lookups"]) // 500)]
    for axis, points, label in [
        (axes[0], lookups, "lookup [s]"),
        (axes[1], record["fresh"], "change to answer [s]"),
    ]:
        axis.plot([at / 60 for at, _ in points], [taken for _, taken in points], ".", markersize=3)
        axis.set(ylabel=label, ylim=(0, None))
    axes[2].plot([at / 60 for at, _ in record["memory"]], [used / 1024 for _, used in record["memory"]])
    axes[2].set(ylabel="memory [GiB]", xlabel="minutes", ylim=(0, None))
    figure.savefig(arguments.figure, metadata={"Date": None})
    report(record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--papir", default="papir")
    running.add_argument("--keys", type=int, default=50_000_000)
    running.add_argument("--changes", type=int, default=5000)
    running.add_argument("--every", type=float, default=12)
    running.add_argument("--minutes", type=float, default=30)
    running.set_defaults(function=run)
    drawing = commands.add_parser("draw")
    drawing.add_argument("record", type=Path)
    drawing.add_argument("figure", type=Path)
    drawing.set_defaults(function=draw)
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
