"""Builds, serves and looks up with a program, wherever it runs: in an emulator, or in a root of its own."""

import re
import select
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# For what takes a moment on an idle machine, and an emulator.
PATIENCE_S = 900
WORDS = "word,meaning\napple,a fruit\nfern,a plant\n"


class Trial(NamedTuple):
    """How to start a program, and a folder that it may write."""

    # Of an emulator or chroot, then the program.
    command: list
    # The folder as this process sees it, and as the program does.
    outside: Path
    inside: str
    environment: dict

    def start(self, *arguments, **options):
        return subprocess.Popen([*self.command, *arguments], env=self.environment, **options)

    def run(self, *arguments, expected=0):
        """Runs the program until it ends, and returns what it prints."""
        running = self.start(
            *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        output, error = running.communicate(timeout=PATIENCE_S)
        if running.returncode != expected:
            sys.exit(
                f"{' '.join(map(str, running.args))}: exit code {running.returncode},"
                f" expected {expected}\n{output}{error}"
            )
        return output


def listening(server):
    """The address that the server prints once it has loaded its databases."""
    readable, _, _ = select.select([server.stdout], [], [], PATIENCE_S)
    line = server.stdout.readline() if readable else ""
    found = re.fullmatch(r"listening on (http://\S+)\n", line)
    if not found:
        sys.exit(f"{' '.join(map(str, server.args))}: found {line!r}, expected \"listening on …\"")
    return found[1]


def look_up(trial):
    """Builds a table, serves it, and looks up a key and one that is absent."""
    source, snapshot, state = (f"{trial.inside}/{name}" for name in ["words.csv", "words.papir", "state"])
    (trial.outside / "words.csv").write_text(WORDS, encoding="utf-8")
    trial.run("build", source, "--key", "word", "--value", "meaning", "--out", snapshot)

    server = trial.start(
        "serve", snapshot, "--listen", "127.0.0.1:0", stdout=subprocess.PIPE, encoding="utf-8",
    )
    try:
        address = listening(server)
        found = trial.run("get", address, "apple", "--state", state)
        if found != "a fruit":
            sys.exit(f"papir get {address} apple: found {found!r}, expected 'a fruit'")
        trial.run("get", address, "moss", "--state", state, expected=1)
    finally:
        server.terminate()
    if server.wait(timeout=PATIENCE_S) != 0:
        sys.exit(f"the server's exit code at SIGTERM is {server.returncode}: expected 0")


def expect_version(trial, version):
    found = trial.run("--version").strip()
    if found != f"papir {version}":
        sys.exit(f"papir --version: found {found!r}, expected 'papir {version}'")
