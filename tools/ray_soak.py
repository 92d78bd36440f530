"""Cuts off, slows and kills nodes of a Ray cluster under lookups: `make soak-ray`.

Usage: ray_soak.py [--minutes M] [--seed N] PAPIR

Starts three nodes of Ray on this machine, each in a network namespace of its own, and joins them by a
bridge in a fourth. The first has the front, and each of the others both parts of a database. A client
in the fourth looks a key up five times a second and checks the value, while a delta is published every
20 seconds. One fault after the other meets one of the two nodes with parts: the other one answers.

A lookup must be answered within 300 seconds, with all retries. A line for each fault, and for each time
without one, is appended to bench/records/soak-windows.jsonl, and one for the run to
bench/records/soak.jsonl. The exit code is 1 if a value was wrong or a lookup had none.

Needs root, iproute2, and the environment of `make demo-ray`. Nothing outside the namespaces is changed,
and every process that this script has started in them ends with it.
"""

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "bench/records"
SCRIPT = str(Path(__file__).resolve())

# The nodes, of which the first has the front, and the place of the client. The prefix is private.
NODES = 3
HUB = "10.77.0.1"
ADDRESSES = [f"10.77.0.{10 + node}" for node in range(NODES)]
RAY_PORT = 6379
PORT = 8000

KEYS = 4_000
# The key whose value is the number of the last version.
STAMP = "word 0"
PERIOD_S = 0.2
PUBLISH_S = 20
BUDGET_S = 300
UNLOADED = 100
GAP_S = 60
# For what takes some seconds on an idle machine.
PATIENCE_S = 600
# What netem does to packets on a slow link.
SLOW = ["delay", "200ms", "50ms", "loss", "1%"]


def value(number):
    return f"meaning {number}" * 40


def run(*command):
    """The output of a command that must succeed."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Network:
    """Namespaces, and links between them. All are gone once it is closed."""

    def __init__(self):
        self.hub = f"papir-{os.getpid()}-hub"
        self.nodes = [f"papir-{os.getpid()}-{node}" for node in range(NODES)]

    @property
    def spaces(self):
        return [self.hub, *self.nodes]

    def open(self):
        for space in self.spaces:
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
        run("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", self.hub, "addr", "add", f"{HUB}/24", "dev", "bridge")
        run("ip", "-n", self.hub, "link", "set", "bridge", "up")

        for node, space in enumerate(self.nodes):
            ends = [self.link(node), "type", "veth", "peer", "name", "out", "netns", space]
            run("ip", "-n", self.hub, "link", "add", *ends)
            run("ip", "-n", self.hub, "link", "set", self.link(node), "master", "bridge", "up")
            run("ip", "-n", space, "addr", "add", f"{ADDRESSES[node]}/24", "dev", "out")
            run("ip", "-n", space, "link", "set", "out", "up")

    def link(self, node):
        """The hub's end of a node's link."""
        return f"node{node}"

    def within(self, space, command):
        return ["ip", "netns", "exec", space, *command]

    def kill(self, space):
        """Kills every process in a namespace, all of which this script has started."""
        for pid in run("ip", "netns", "pids", space).split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue

    def close(self):
        present = run("ip", "netns", "list")
        for space in self.spaces:
            if space in present:
                self.kill(space)
                run("ip", "netns", "del", space)


@contextmanager
def opened_network():
    network = Network()
    try:
        network.open()
        yield network
    finally:
        network.close()


@dataclass
class Cluster:
    """The nodes of Ray, and the process that started the service."""

    network: Network
    folder: Path
    processes: list = field(default_factory=lambda: [None] * NODES)

    def start(self, node):
        """Starts a node, unless it runs."""
        process = self.processes[node]
        if process is not None and process.poll() is None:
            return
        space = self.network.nodes[node]
        if process is not None:
            # What is left of it would hold its ports.
            self.network.kill(space)

        ray = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--disable-usage-stats"]
        common = [f"--node-ip-address={ADDRESSES[node]}", "--object-store-memory=134217728"]
        if node == 0:
            role = ["--head", f"--port={RAY_PORT}", "--num-cpus=4", "--include-dashboard=false"]
            role.append(f"--temp-dir={self.folder / 'ray'}")
        else:
            # As many processors as the parts take: the front finds none here.
            role = [f"--address={ADDRESSES[0]}:{RAY_PORT}", "--num-cpus=1", '--resources={"part": 2}']
        with (self.folder / f"node-{node}.log").open("a") as log:
            command = self.network.within(space, [*ray, *common, *role])
            self.processes[node] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def serve(self, snapshot):
        """Starts the parts and the front. The service stays until the cluster ends."""
        deadline = time.monotonic() + PATIENCE_S
        command = [sys.executable, SCRIPT, "--role", "serve", str(snapshot)]
        while True:
            # The head may still be starting.
            started = subprocess.run(self.network.within(self.network.nodes[0], command), check=False)
            if started.returncode == 0:
                return
            if time.monotonic() > deadline:
                sys.exit(f"the service does not start: see {self.folder}")
            time.sleep(5)


def serve(snapshot):
    """In a process on the first node: starts the service."""
    import ray

    import pypapir.ray

    quoted = shlex.quote(sys.executable)
    ray.init(
        address=f"{ADDRESSES[0]}:{RAY_PORT}",
        log_to_driver=False,
        runtime_env={"py_executable": quoted} if quoted != sys.executable else None,
    )
    end = time.monotonic() + PATIENCE_S
    while ray.cluster_resources().get("part", 0) < 2 * (NODES - 1):
        if time.monotonic() > end:
            sys.exit(f"found {ray.cluster_resources()}: expected {NODES} nodes")
        time.sleep(1)

    # Both parts on each of the two nodes.
    options = {"num_cpus": 0.5, "resources": {"part": 1}, "scheduling_strategy": "SPREAD"}
    shards = pypapir.ray.Shards.start(snapshot, 2, replicas=NODES - 1, options=options)
    pypapir.ray.serve(shards, name="words", host="0.0.0.0", port=PORT)


def look_up(seed, written, state):
    """In a process at the hub: looks keys up until stdin ends, and prints a line of JSON for each."""
    import pypapir

    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    choose = random.Random(seed)
    client = None
    due = time.monotonic()
    while not ended.is_set():
        ended.wait(max(0, due - time.monotonic()))
        number = choose.choice([0, choose.randrange(KEYS)])
        begin = time.monotonic()
        wrong = None
        failed = False
        errors = []
        while not failed:
            try:
                if client is None:
                    client = pypapir.connect(f"http://{ADDRESSES[0]}:{PORT}", state=state, proxy="none")
                found = client.get(f"word {number}")
                # Read after the lookup: no version that it may have seen is left out.
                wrong = fault_of(number, found, int(written.read_text()))
                break
            except pypapir.Error as error:
                client = None
                errors.append(error.code or type(error).__name__)
                failed = time.monotonic() - begin > BUDGET_S
                time.sleep(0.25)
        took = time.monotonic() - begin
        line = {"ms": round(1e3 * took, 3), "wrong": wrong, "failed": failed, "retried": errors}
        print(json.dumps(line), flush=True)
        due = max(due + PERIOD_S, time.monotonic())


def fault_of(number, found, written):
    """The difference of a value from those that the key may have; None for a right one."""
    text = None if found is None else found.decode("utf-8", "replace")
    if number:
        return None if text == value(number) else f"word {number}: {text!r}"
    known = {value(f"0-{version}"): version for version in range(written + 1)}
    return None if text in known else f"{STAMP}: {text!r}, expected versions 0 to {written}"


@dataclass
class Window:
    """Lookups of a time."""

    begin: float = field(default_factory=time.monotonic)
    times_ms: list = field(default_factory=list)
    wrong: int = 0
    failed: int = 0
    retried: dict = field(default_factory=dict)

    def note(self, line):
        self.times_ms.append(line["ms"])
        self.failed += line["failed"]
        if line["wrong"] is not None:
            self.wrong += 1
            print(f"wrong: {line['wrong']}", file=sys.stderr)
        for code in line["retried"]:
            self.retried[code] = self.retried.get(code, 0) + 1

    def add(self, other):
        self.times_ms += other.times_ms
        self.wrong += other.wrong
        self.failed += other.failed
        for code, count in other.retried.items():
            self.retried[code] = self.retried.get(code, 0) + count


def percentile(times, percent):
    """By nearest rank, in ms; None of nothing."""
    ordered = sorted(times)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1] if ordered else None


class Record:
    """The lookups of a client, in windows."""

    def __init__(self, run_name, client):
        self.run_name = run_name
        self.lock = threading.Lock()
        self.current = Window()
        self.whole = Window()
        self.worst_ms = None
        self.reader = threading.Thread(target=self.read, args=(client.stdout,), daemon=True)
        self.reader.start()

    def read(self, lines):
        for line in lines:
            with self.lock:
                self.current.note(json.loads(line))

    def count(self):
        with self.lock:
            return len(self.current.times_ms)

    def close(self, fault, node):
        """Ends the window, and appends its line. Returns the window."""
        with self.lock:
            window, self.current = self.current, Window()
        p99 = percentile(window.times_ms, 99)
        if p99 is not None and p99 > (self.worst_ms or 0):
            self.worst_ms = p99
        self.whole.add(window)
        append(
            "soak-windows.jsonl",
            {
                "run": self.run_name,
                "part": "ray",
                "unix_s": int(time.time()),
                "window_s": round(time.monotonic() - window.begin, 1),
                "fault": fault,
                "service": None if node is None else f"node-{node}",
                "lookups": len(window.times_ms),
                "wrong": window.wrong,
                "failed_after_retries": window.failed,
                "retried": window.retried,
                "p50_ms": percentile(window.times_ms, 50),
                "p99_ms": p99,
            },
        )
        return window


def append(name, line):
    with (RECORDS / name).open("a") as file:
        print(json.dumps(line), file=file)
    print(json.dumps(line), flush=True)


@contextmanager
def cut_off(cluster, node):
    """The node's link is down."""
    network = cluster.network
    run("ip", "-n", network.hub, "link", "set", network.link(node), "down")
    try:
        yield
    finally:
        run("ip", "-n", network.hub, "link", "set", network.link(node), "up")


@contextmanager
def slowed(cluster, node):
    """Packets to the node come late, and some of them are lost."""
    network = cluster.network
    place = ["dev", network.link(node), "root"]
    run("tc", "-n", network.hub, "qdisc", "add", *place, "netem", *SLOW)
    try:
        yield
    finally:
        run("tc", "-n", network.hub, "qdisc", "del", *place)


@contextmanager
def killed(cluster, node):
    """All processes of the node are killed. It starts again in the end."""
    cluster.network.kill(cluster.network.nodes[node])
    cluster.processes[node].wait()
    yield


# Each fault with its seconds.
FAULTS = [(cut_off, 60), (slowed, 60), (killed, 20)]


@dataclass
class Owner:
    """Publishes deltas of the snapshot."""

    papir: str
    snapshot: Path
    written: Path
    ended: threading.Event = field(default_factory=threading.Event)
    versions: int = 0

    def publish(self):
        while not self.ended.wait(PUBLISH_S):
            number = self.versions + 1
            changes = self.snapshot.with_name("changes.csv")
            changes.write_text(f"word,meaning\n{STAMP},{value(f'0-{number}')}\n")
            # Before it is published: the client may see it at once.
            replace(self.written, str(number))
            columns = ["--key", "word", "--value", "meaning"]
            run(self.papir, "update", str(self.snapshot), "--delta", "--from", str(changes), *columns)
            self.versions = number


def replace(file, text):
    """Replaces a file's text, so that a reader sees the old or the new one."""
    next_file = file.with_suffix(".next")
    next_file.write_text(text)
    next_file.replace(file)


def until(what, holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"not in {PATIENCE_S} s: {what}")
        time.sleep(1)


def inject(cluster, record, minutes, seed):
    """Injects each fault at least once, and goes on until the time is over. Returns their number."""
    choose = random.Random(seed)
    begin = time.monotonic()
    count = 0
    while True:
        for fault, seconds in choose.sample(FAULTS, len(FAULTS)):
            end = time.monotonic() + seconds + 2 * GAP_S
            if count >= len(FAULTS) and end > begin + 60 * minutes:
                return count
            node = choose.randrange(1, NODES)
            time.sleep(GAP_S)
            record.close(None, None)
            print(f"{fault.__name__} of node {node}", flush=True)
            with fault(cluster, node):
                time.sleep(seconds)
            # A node that was away for long has been given up, and has ended.
            time.sleep(GAP_S)
            cluster.start(node)
            record.close(fault.__name__, node)
            count += 1


def cpu():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def commit():
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return found.stdout.strip() or None


def soak(papir, minutes, seed):
    """The whole run. Returns whether every value was right."""
    import pypapir

    if os.geteuid() != 0:
        sys.exit("found another user than root: expected root, who may make network namespaces")
    with ExitStack() as stack:
        # Ray names its sockets in it, and the names must be short.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True)))
        snapshot = folder / "words.papir"
        rows = {f"word {number}": value(number) for number in range(1, KEYS)}
        pypapir.build({STAMP: value("0-0"), **rows}, snapshot, scheme="simple")
        written = folder / "written"
        written.write_text("0")

        network = stack.enter_context(opened_network())
        cluster = Cluster(network, folder)
        for node in range(NODES):
            cluster.start(node)
        cluster.serve(snapshot)

        command = [sys.executable, SCRIPT, "--role", "client", "--seed", str(seed), str(written)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        client = subprocess.Popen(network.within(network.hub, command), **pipes)
        name = f"{int(time.time())}-{seed:016x}"
        record = Record(name, client)
        until("lookups are answered", lambda: record.count() >= UNLOADED)
        unloaded = record.close(None, None)

        owner = Owner(papir, snapshot, written)
        publishing = threading.Thread(target=owner.publish)
        publishing.start()
        try:
            begin = time.monotonic()
            faults = inject(cluster, record, minutes, seed)
            seconds = time.monotonic() - begin
        finally:
            owner.ended.set()
            publishing.join()
        client.stdin.close()
        client.wait()
        record.reader.join()
        record.close(None, None)

        whole = record.whole
        report = {
            "run": name,
            "part": "ray",
            "ended_unix_s": int(time.time()),
            "cpu": cpu(),
            "cores": len(os.sched_getaffinity(0)),
            "commit": commit(),
            "seed": seed,
            "minutes": round(seconds / 60, 1),
            "nodes": NODES,
            "lookups": len(whole.times_ms),
            "wrong": whole.wrong,
            "failed_after_retries": whole.failed,
            "retried": whole.retried,
            "versions": owner.versions,
            "faults": faults,
            "p99_unloaded_ms": percentile(unloaded.times_ms, 99),
            "p50_ms": percentile(whole.times_ms, 50),
            "p99_ms": percentile(whole.times_ms, 99),
            "worst_window_p99_ms": record.worst_ms,
        }
        append("soak.jsonl", report)
    return whole.wrong == 0 and whole.failed == 0 and client.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60, help="of the faults, at most 60")
    parser.add_argument("--seed", type=int, default=None, help="of the order of the faults")
    parser.add_argument("--role", choices=["serve", "client"], help=argparse.SUPPRESS)
    parser.add_argument("of", metavar="PAPIR", help="the program")
    given = parser.parse_args()

    if given.role == "serve":
        serve(given.of)
    elif given.role == "client":
        written = Path(given.of)
        look_up(given.seed, written, written.with_name("state"))
    else:
        if not 1 <= given.minutes <= 60:
            parser.error(f"{given.minutes} minutes: expected 1 to 60")
        seed = random.SystemRandom().getrandbits(63) if given.seed is None else given.seed
        print(f"seed {seed}", flush=True)
        sys.exit(0 if soak(given.of, given.minutes, seed) else 1)


if __name__ == "__main__":
    main()
