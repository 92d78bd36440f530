"""Compares two builds of one release, by their SHA256SUMS.

Usage: compare.py FOLDER FOLDER

Names each file that differs or that one build lacks. Of tar archives, zip files and images, it also
names the entries that differ.
"""

import hashlib
import sys
import tarfile
import zipfile
from pathlib import Path


def sums(folder):
    """The sum of each file of a build, by its name."""
    lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def entries(path):
    """What is compared of each entry of an archive; nothing for other files."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return {
                one.filename: (one.date_time, one.external_attr, one.CRC, one.file_size)
                for one in archive.infolist()
            }
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            return {one.name: described(archive, one) for one in archive}
    return {}


def described(archive, entry):
    content = archive.extractfile(entry).read() if entry.isreg() else b""
    digest = hashlib.sha256(content).hexdigest()
    return entry.type, entry.mode, entry.uid, entry.gid, entry.mtime, digest


def differing(first, second):
    """The names whose values differ between two tables, in order."""
    names = sorted(first.keys() | second.keys())
    return [name for name in names if first.get(name) != second.get(name)]


def main():
    first, second = map(Path, sys.argv[1:])
    files = differing(sums(first), sums(second))
    for name in files:
        print(f"differs: {name}", file=sys.stderr)
        if (first / name).exists() and (second / name).exists():
            inner = differing(entries(first / name), entries(second / name))
            for entry in inner[:20]:
                print(f"    in it: {entry}", file=sys.stderr)
    if files:
        sys.exit(f"{len(files)} files differ between {first} and {second}: expected none")
    print(f"{len(sums(first))} files are the same in {first} and {second}")


if __name__ == "__main__":
    main()
