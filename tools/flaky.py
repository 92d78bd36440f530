"""Runs all tests again and again under conditions that strangers have: `make test-flaky N=20`.

Usage: flaky.py [--runs N] [--conditions NAME,...] [--programs WORD,...] [--tests FILTER] [--list]

The tests are built once. Each run takes the next condition, and runs every test program, the Python
package's tests and the browser tests under it. Conditions joined by `+` hold at once, so that a few
runs cover all. The condition of another place is `make test` of a copy of the last commit, with a build
of its own. Prints a table of the runs and the names of the tests that failed; exit code 1 if there are
any. Conditions that need root are skipped without it. The table also says what a condition lacks here,
or which tests it leaves out.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The test program that starts cargo and rustc.
STARTS_CARGO = "testkit layering"
# Longest run of one test program.
LIMIT_S = 3600
# A user who owns nothing here.
NOBODY = 65534
SMALL_DISK = "512m"


@dataclass
class Condition:
    """What differs from an ordinary run."""

    name: str
    wrapper: list[str] = field(default_factory=list)
    environment: dict[str, str | None] = field(default_factory=dict)
    threads: int | None = None
    # Root, or programs.
    needs: list[str] = field(default_factory=list)
    # Commands that run beside the tests.
    beside: list[str] = field(default_factory=list)
    small_disk: bool = False
    owner: int | None = None
    # The name of a folder for a copy without .git, as an archive of the sources has it.
    elsewhere: str = ""


def shell(script):
    return ["bash", "-c", f'{script}; exec "$@"', "bash"]


NO_IPV6 = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && ip link set lo up || exit 99"
# A container may have others than the first processor.
ONE_CORE = str(min(os.sched_getaffinity(0)))
TURKISH = "tr_TR.UTF-8"
PROXIES = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
# Nothing listens there.
REFUSING = {name: "http://127.0.0.1:9" for name in PROXIES} | {"no_proxy": None, "NO_PROXY": None}
STRANGERS = {
    "COLUMNS": "40",
    "NODE_ENV": "production",
    "PAPIR_LOG": "warn",
    "PGHOST": "nowhere",
    "PGPASSWORD": "x",
    "PYTHONPATH": "/nowhere",
    "WATCHDOG_USEC": "1000000",
}

CONDITIONS = [
    Condition("as it is"),
    Condition("one core", wrapper=["taskset", "-c", ONE_CORE]),
    Condition("load beside", beside=["stress-ng", "--cpu", "2", "--io", "1", "--quiet"], needs=["stress-ng"]),
    Condition("four threads", threads=4),
    Condition("sixteen threads", threads=16),
    Condition("256 open files", wrapper=shell("ulimit -n 256")),
    Condition("an ordinary user", owner=NOBODY, needs=["root"]),
    Condition("HOME is read-only", environment={"HOME": "/proc"}),
    Condition("HOME is not set", environment={"HOME": None}),
    Condition("a small TMPDIR", small_disk=True, needs=["root"]),
    Condition("Turkish", environment={"LANG": TURKISH, "LC_ALL": TURKISH}),
    Condition("Kiritimati", environment={"TZ": "Pacific/Kiritimati"}),
    Condition("no IPv6", wrapper=["unshare", "--net", *shell(NO_IPV6)], needs=["root"]),
    Condition("a proxy that refuses", environment=REFUSING),
    Condition("variables of a stranger", environment=STRANGERS),
    Condition("AVX2", environment={"PAPIR_BACKEND": "avx2"}),
    Condition("portable", environment={"PAPIR_BACKEND": "portable"}),
    Condition("an archive in a path with spaces", elsewhere="ein Pfad für papir"),
]


def joined(names):
    """The condition that all conditions of these names, joined by `+`, make together."""
    parts = [known(name) for name in names.split("+")]
    if len(parts) == 1:
        return parts[0]

    together = Condition(names)
    for part in parts:
        if part.elsewhere:
            sys.exit(f"{names}: {part.name} is a build of its own, and joins no other condition")
        together.wrapper = together.wrapper + part.wrapper
        together.environment = together.environment | part.environment
        together.threads = together.threads or part.threads
        together.needs = together.needs + part.needs
        together.beside = together.beside + part.beside
        together.small_disk = together.small_disk or part.small_disk
        together.owner = together.owner if part.owner is None else part.owner

    # The Python environment of a user who may not write in `target` is in TMPDIR, and fills it.
    if together.small_disk and together.owner is not None:
        sys.exit(f"{names}: the environment of another user does not fit a TMPDIR of {SMALL_DISK}")
    return together


def known(name):
    """The condition of this name."""
    for condition in CONDITIONS:
        if condition.name == name:
            return condition
    sys.exit(f"no such condition: {name}: expected one of flaky.py --list")


@dataclass
class Program:
    """A command with tests, and the folder that it runs in."""

    name: str
    command: list[str]
    folder: Path
    is_rust: bool = True


@dataclass
class Outcome:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0


def build():
    """Builds the tests. Returns their programs."""
    command = ["cargo", "test", "--locked", "--workspace", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)

    programs = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("profile", {}).get("test") and message.get("executable"):
            folder = Path(message["manifest_path"]).parent
            name = f"{folder.name} {message['target']['name']}"
            programs.append(Program(name, [message["executable"]], folder))
    return programs


def install(programs):
    """Runs the Python package's tests once, which installs their environment from the registry."""
    for program in programs:
        if program.name.startswith("python"):
            subprocess.run(program.command, cwd=program.folder, stdin=subprocess.DEVNULL, check=False)


def browser_tests():
    """The tests of the npm package, with the modules that `make js-test` makes."""
    subprocess.run(["make", "js-modules"], cwd=ROOT, check=True)
    tests = sorted(str(path) for path in (ROOT / "js/tests").glob("*.test.mjs"))
    return Program("js", ["node", "--test", "--test-reporter=tap", *tests], ROOT, is_rust=False)


@contextlib.contextmanager
def prepared(condition):
    """What a condition needs while its tests run: a folder for temporary files, and a load."""
    folder = Path(tempfile.mkdtemp(prefix="papir-flaky-"))
    if condition.small_disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "papir-test", folder], check=True)
    # PostgreSQL is started as a user of its own.
    folder.chmod(0o755)
    if condition.owner is not None:
        os.chown(folder, condition.owner, condition.owner)
    # Last before what ends it again.
    beside = subprocess.Popen(condition.beside) if condition.beside else None
    try:
        yield folder
    finally:
        if beside:
            beside.terminate()
            beside.wait()
        if condition.small_disk:
            subprocess.run(["umount", "-l", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def environment(condition, folder):
    home = Path.home()
    values = dict(os.environ)
    # Cargo and rustup, which some tests start, are found whatever HOME says.
    values.setdefault("CARGO_HOME", str(home / ".cargo"))
    values.setdefault("RUSTUP_HOME", str(home / ".rustup"))
    values.update(
        TMPDIR=str(folder),
        CARGO_TARGET_DIR=str(ROOT / "target"),
        PAPIR=str(ROOT / "target/debug/papir"),
        PAPIR_JS=str(ROOT / "target/js/dist"),
        PAPIR_PAGE=str(ROOT / "target/js/page"),
    )
    if condition.owner is not None:
        values["HOME"] = str(folder)
    for name, value in condition.environment.items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value
    return values


def under(condition, command):
    """A command with what a condition puts before it."""
    if condition.owner is not None:
        owner = str(condition.owner)
        command = ["setpriv", "--reuid", owner, "--regid", owner, "--clear-groups", *command]
    return condition.wrapper + command


def run(program, condition, folder, tests):
    """Runs one program under a condition. Returns its outcome."""
    command = list(program.command)
    if program.is_rust:
        threads = condition.threads or os.cpu_count() + 2
        command += [f"--test-threads={threads}", *tests]
    begin = time.monotonic()
    try:
        done = subprocess.run(
            under(condition, command),
            cwd=program.folder,
            env=environment(condition, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
        )
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, code = (expired.stdout or b"").decode(errors="replace"), -1

    outcome = read(program, output)
    outcome.seconds = time.monotonic() - begin
    if code != 0 and not outcome.failed:
        outcome.failed.append(f"{program.name}: exit code {code}")
    if outcome.failed:
        keep(program, condition, output)
    return outcome


def read(program, output):
    """The counts and failures that a runner prints."""
    if program.is_rust:
        passed = sum(int(count) for count in re.findall(r"^test result: \w+\. (\d+) passed", output, re.M))
        failed = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED", output, re.M)
    else:
        # The runner's two formats: TAP, and for readers.
        passed = sum(int(count) for count in re.findall(r"^(?:#|ℹ) pass (\d+)", output, re.M))
        failed = re.findall(r"^(?:not ok \d+ - |✖ (?!failing tests))(.*)", output, re.M)
    return Outcome(passed, [f"{program.name}: {name}" for name in failed])


def keep(program, condition, output):
    """Keeps the output of a failed run."""
    folder = ROOT / "target/flaky"
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", f"{condition.name} {program.name}")
    (folder / f"{name}.log").write_text(output)


def run_elsewhere(condition, folder):
    """Runs `make test` in a copy of the last commit. Returns its outcome."""
    place = folder / condition.elsewhere
    place.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x"], cwd=place, input=archive.stdout, check=True)

    values = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    begin = time.monotonic()
    done = subprocess.run(
        ["make", "test"],
        cwd=place,
        env=values,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )

    everything = Program("make test", [], place)
    outcome = read(everything, done.stdout)
    of_browsers = read(Program("js", [], place, is_rust=False), done.stdout)
    outcome.passed += of_browsers.passed
    outcome.failed += of_browsers.failed
    outcome.seconds = time.monotonic() - begin
    if done.returncode != 0 and not outcome.failed:
        outcome.failed.append(f"make test: exit code {done.returncode}")
    if outcome.failed:
        keep(everything, condition, done.stdout)
    return outcome


def missing(condition):
    """What a condition lacks here; empty if it can be made."""
    for need in condition.needs:
        found = os.geteuid() == 0 if need == "root" else shutil.which(need)
        if not found:
            return f"needs {need}"
    return ""


def lacking(condition, folder):
    """What a condition lacks here although it can be made, and the names of programs that it leaves out."""
    remarks = []
    left_out = []

    if condition.environment.get("LANG") == TURKISH:
        listed = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.lower()
        if "tr_tr.utf" not in listed:
            remarks.append("its locale is not installed")

    if condition.owner is not None:
        command = under(condition, ["bash", "-c", "cargo --version && rustc --version"])
        reached = subprocess.run(command, env=environment(condition, folder), capture_output=True)
        if reached.returncode != 0:
            remarks.append(f"without {STARTS_CARGO}: no cargo")
            left_out.append(STARTS_CARGO)

    return ", ".join(remarks), left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, help="runs in all; each condition once by default")
    parser.add_argument("--conditions", default="")
    parser.add_argument("--programs", default="", help="only programs whose names begin with one of these")
    parser.add_argument("--tests", default="", help="only tests whose names contain this")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    if options.list:
        print("\n".join(one.name for one in CONDITIONS))
        return
    wanted = [joined(names) for names in options.conditions.split(",") if names]
    chosen = wanted or CONDITIONS

    programs = build()
    if not options.tests:
        programs.append(browser_tests())
    if options.programs:
        words = tuple(options.programs.split(","))
        programs = [program for program in programs if program.name.startswith(words)]
    if not programs:
        sys.exit(f"no such program: {options.programs}: expected the folder of a crate, or js")

    # Some conditions leave no way to the registry.
    install(programs)

    print("| condition | passed | failed | seconds |\n|---|---|---|---|", flush=True)
    failures = []
    for turn in range(options.runs or len(chosen)):
        condition = chosen[turn % len(chosen)]
        lacks = missing(condition)
        if lacks:
            print(f"| {condition.name} | | {lacks} | |", flush=True)
            continue

        total = Outcome()
        with prepared(condition) as folder:
            remark, left_out = lacking(condition, folder)
            if condition.elsewhere:
                total = run_elsewhere(condition, folder)
            for program in programs:
                if condition.elsewhere or program.name in left_out:
                    continue
                outcome = run(program, condition, folder, options.tests.split())
                total.passed += outcome.passed
                total.failed += outcome.failed
                total.seconds += outcome.seconds
        failures += [f"{condition.name}: {name}" for name in total.failed]
        name = f"{condition.name} ({remark})" if remark else condition.name
        print(f"| {name} | {total.passed} | {len(total.failed)} | {total.seconds:.0f} |", flush=True)

    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
