"""Servers, lookups and reports that the measurements of relays and of tokens share."""

import json
import os
import re
import select
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LOCALHOST = "127.0.0.1"
LISTEN = ["--listen", f"{LOCALHOST}:0"]

# The files that `build` makes: a database, and keys with their values, which `papir load` reads before the load.
DATABASE = "bench.papir"
LOADED = "keys.csv"
LOADED_KEYS = 1_000

# For what takes a moment on an idle machine.
PATIENCE_S = 120

# Vector instructions that the kernels or the ciphers use, as in /proc/cpuinfo.
VECTORS = "avx2 avx512f avx512_vnni avx512_vbmi avx512ifma amx_int8 aes vaes vpclmulqdq asimd asimddp pmull".split()


@dataclass(frozen=True)
class Cores:
    """The core of the measured server, and those of everything else, as `taskset` takes them."""

    measured: int
    others: list[int]

    @classmethod
    def of_this_machine(cls):
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            sys.exit(f"found {len(usable)} core: expected two, one of them for the measured server alone")
        return cls(usable[-1], usable[:-1])

    def measuring(self, command):
        """A command that runs on the core of the measured server."""
        return pinned([self.measured], command)

    def beside(self, command):
        """A command that runs on the other cores."""
        return pinned(self.others, command)


def pinned(cores, command):
    return ["taskset", "-c", ",".join(str(core) for core in cores), *command]


@dataclass(frozen=True)
class Server:
    """A running server of papir."""

    url: str
    pid: int

    def processor_s(self):
        """Seconds of processor time that all its threads have used, also those that have ended."""
        # The clock of another process, as clock_getcpuclockid(3) names it on Linux.
        return time.clock_gettime((~self.pid << 3) | 2)


@contextmanager
def started(command):
    """A server, which prints its address in its first line, and is stopped at the end."""
    environment = {**os.environ, "PAPIR_LOG": "warn"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        readable, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        found = re.fullmatch(r"listening on (http://\S+)\n", process.stdout.readline() if readable else "")
        if not found:
            sys.exit(f"{' '.join(command)} does not listen")
        yield Server(found[1], process.pid)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def build(papir, folder, keys, value_bytes, shape):
    """Builds a keyed database of random values in a folder. Returns its description by `papir build`.

    `shape` are options of `papir build`.
    """
    rows = [f"key-{number},{os.urandom(value_bytes).hex()}\n" for number in range(keys)]
    source = folder / "source.csv"
    source.write_text("key,value\n" + "".join(rows), encoding="ascii")
    (folder / LOADED).write_text("key,value\n" + "".join(rows[:LOADED_KEYS]), encoding="ascii")

    columns = ["--key", "key", "--value", "value", *shape]
    command = [papir, "build", str(source), *columns, "--out", str(folder / DATABASE)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@dataclass(frozen=True)
class Load:
    """How `papir load` looks up: the number of clients, the time in seconds, and further options."""

    clients: int
    seconds: int
    options: list[str]

    def run(self, papir, service, folder, cores):
        """The report of lookups at a service, of which none may fail or find another value."""
        times = ["--clients", str(self.clients), "--seconds", str(self.seconds)]
        keys = ["--keys", str(folder / LOADED)]
        command = cores.beside([papir, "load", service, *keys, *times, *self.options, "--json"])

        run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        report = json.loads(run.stdout) if run.stdout else {}
        if run.returncode != 0 or report["failed"] or not report["lookups"]:
            sys.exit(f"{' '.join(command)}: exit code {run.returncode}, errors {report.get('errors')}")
        return report


def median_of(rounds):
    """The median of each figure."""
    kind = type(rounds[0])
    names = kind.__dataclass_fields__
    return kind(**{name: statistics.median(getattr(one, name) for one in rounds) for name in names})


def machine(cores, measured):
    """The processor, its vector instructions, and the use of its cores."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)", text, re.MULTILINE)
    found = flags[1].split() if flags else []
    vectors = [name for name in VECTORS if name in found]

    others = ", ".join(str(core) for core in cores.others)
    return (
        f"processor       {model[1] if model else os.uname().machine}\n"
        f"vectors         {' '.join(vectors) or 'none'}\n"
        f"cores           {cores.measured} for {measured}, {others} for everything else\n"
        f"load before     {os.getloadavg()[0]:.1f} of other work"
    )


def backend(papir, folder):
    """The instructions with which the database of `build` is answered, as `papir doctor` tells them."""
    command = [papir, "doctor", str(folder / DATABASE), "--json"]
    # The exit code tells of the other findings, too.
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    details = [finding["detail"] for finding in json.loads(run.stdout) if finding["check"] == "processor"]
    return f"backend         {', '.join(details)}"


def judge(name, found, allowed, unit):
    verdict = "met" if found <= allowed else "missed"
    print(f"{name:15} {found:.3f} {unit}: expected at most {allowed:.3f} {unit}, {verdict}")
