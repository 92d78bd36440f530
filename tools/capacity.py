"""Writes the tables of docs/capacity.md from `papir plan --json`.

A class of machines is a rates file `bench/records/DATE-MACHINE.rates.json`, which
`papir plan --calibrate --rates FILE` writes; the program's built-in rates come last.

    tools/capacity.py            rewrites the tables
    tools/capacity.py --check    fails if the page differs from them
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/capacity.md"
RECORDS = ROOT / "bench/records"
BEGIN, END = "<!-- tables of tools/capacity.py -->", "<!-- /tables of tools/capacity.py -->"

# Keys and bytes of a value; records and bytes of a record.
COUNTS = (100_000, 1_000_000, 10_000_000, 100_000_000)
KEYED = [(keys, value) for keys in COUNTS for value in (4, 64, 256, 1024)]
NUMBERED = [(10**6, 64), (10**7, 64), (10**8, 64), (10**6, 1024), (10**5, 32768), (10**6, 32768)]
COLUMNS = "scheme | memory | upload + download | once a version | answer | lookups per second"


class Failure(Exception):
    """An error for the user."""


def main():
    arguments = argparse.ArgumentParser(description="Writes the tables of docs/capacity.md.")
    arguments.add_argument("--check", action="store_true", help="only compare, and fail if the page differs")
    arguments.add_argument("--papir", default=os.environ.get("PAPIR", str(ROOT / "target/release/papir")))
    given = arguments.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise Failure(f"{PAGE} needs one line {BEGIN} and one line {END}")
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    new = f"\n{tables(given.papir)}\n"
    if old == new:
        return
    if given.check:
        raise Failure(f"docs/capacity.md is out of date: {difference(old, new)}. Run tools/capacity.py")
    PAGE.write_text(before + BEGIN + new + END + after, encoding="utf-8")


def difference(old, new):
    """The first row that differs."""
    old, new = old.splitlines(), new.splitlines()
    for row, expected in zip(old, new):
        if row != expected:
            return f"it says {row!r}, the plan {expected!r}"
    return f"it has {len(old)} lines, the plan {len(new)}"


def tables(papir):
    parts = []
    # An empty folder for data keeps the rates of this machine's user out of the built-in class.
    with tempfile.TemporaryDirectory() as data:
        for rates in sorted(RECORDS.glob("*.rates.json")):
            parts += of_machine(measured(rates), papir, data, ["--rates", str(rates)])
        parts += of_machine("Built-in rates: a modest machine without AVX-512", papir, data, [])
    return "\n".join(parts)


def measured(rates):
    """A title from a file's name and content."""
    name = rates.name.removesuffix(".rates.json")
    date, machine = name[:10], name[11:]
    try:
        backend = json.loads(rates.read_text(encoding="utf-8"))["backend"]
    except (ValueError, KeyError) as error:
        raise Failure(f"{rates} is no rates file of papir: {error!r}") from error
    return f"{machine.replace('-', ' ')} ({backend}), measured on {date}"


def of_machine(title, papir, data, rates):
    parts = [f"\n## {title}\n", f"| keys | value | {COLUMNS} |", "|--:|--:|---|--:|--:|--:|--:|--:|"]
    parts += [row(shape, plan(papir, data, rates + ["--keyed"], shape)) for shape in KEYED]
    parts += [f"\n| records | length | {COLUMNS} |", "|--:|--:|---|--:|--:|--:|--:|--:|"]
    parts += [row(shape, plan(papir, data, rates, shape)) for shape in NUMBERED]
    return parts


def plan(papir, data, options, shape):
    """The recommended parameters for a shape, with one thread for each answer."""
    records, length = (str(number) for number in shape)
    command = [papir, "plan", "--json", "--threads", "1", "--records", records, "--record-bytes", length, *options]
    try:
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "XDG_DATA_HOME": data})
    except OSError as error:
        raise Failure(f"{papir} does not run ({error.strerror}): build it, or give --papir") from error
    if run.returncode != 0:
        raise Failure(f"{' '.join(command)}: {run.stderr.strip()}")
    return json.loads(run.stdout)["offers"][0]


def row(shape, offer):
    records, length = shape
    scheme = f"`{offer['scheme']}`, {offer['parameters']}"
    wire = f"{size(offer['upload_bytes'])} + {size(offer['download_bytes'])}"
    cells = [f"{records:,}", size(length), scheme, size(offer["memory_bytes"]), wire, size(offer["public_bytes"])]
    cells += [time(offer["answer_s"]), digits(1 / offer["core_s"])]
    return f"| {' | '.join(cells)} |"


def size(length):
    for unit in ("B", "KiB", "MiB"):
        if length < 1024:
            return f"{digits(length)} {unit}"
        length /= 1024
    return f"{digits(length)} GiB"


def time(seconds):
    return f"{digits(seconds * 1000)} ms" if seconds < 1 else f"{digits(seconds)} s"


def digits(number):
    """Three digits at most, or all digits of a whole part."""
    if number >= 99.95 or number == int(number):
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"capacity.py: {failure}")
