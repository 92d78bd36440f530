"""Checks that wheels run on the systems that they are promised for: `make wheels`.

Usage: wheel_tags.py FOLDER TAG...

A TAG is a platform tag, such as manylinux_2_17_x86_64 (glibc 2.17 or later) or
musllinux_1_2_x86_64 (musl 1.2 or later). The folder must have a wheel for each TAG and no other: one
whose name has this tag or that of an older system, and whose libraries need no newer glibc than the
name says. The check reads the versions of symbols itself, so it does not depend on the tool that
made the wheel.
"""

import re
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

TAG = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)")
# A name of a symbol's version, between zeros as in a table of strings. Musl's symbols have none.
NEEDED = re.compile(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)*(?=\0)")


class PlatformTag(NamedTuple):
    """The systems that a wheel is for: a C library from a version on, on one kind of processor."""

    kind: str
    major: int
    minor: int
    machine: str

    @classmethod
    def parse(cls, text):
        """The tag of this text; None for one that names no version, such as linux_x86_64."""
        match = TAG.fullmatch(text)
        if match is None:
            return None
        kind, major, minor, machine = match.groups()
        return cls(kind, int(major), int(minor), machine)

    def __str__(self):
        return f"{self.kind}_{self.major}_{self.minor}_{self.machine}"

    def version(self):
        return self.major, self.minor

    def includes(self, other):
        """Returns true if a wheel with this tag runs on all systems that the other tag names."""
        is_same = (self.kind, self.machine) == (other.kind, other.machine)
        return is_same and self.version() <= other.version()


def tag_of(wheel):
    """The tag of a wheel that covers the most systems; None if no tag in its name has a version."""
    platforms = wheel.stem.rsplit("-", 1)[-1].split(".")
    tags = [tag for tag in map(PlatformTag.parse, platforms) if tag is not None]
    return min(tags, default=None)


def needed_glibc(wheel):
    """The newest glibc that the libraries of a wheel need; None if they need none."""
    versions = []
    with zipfile.ZipFile(wheel) as files:
        libraries = [name for name in files.namelist() if re.search(r"\.so(\.|$)", name)]
        if not libraries:
            sys.exit(f"{wheel.name}: no library in it: expected pypapir/_native.abi3.so")
        for name in libraries:
            versions += [(int(major), int(minor)) for major, minor in NEEDED.findall(files.read(name))]
    return max(versions, default=None)


def problem(wheel, promised):
    """Why a wheel is not as promised; None if it is."""
    tag = tag_of(wheel)
    expected = " or ".join(map(str, promised))
    if tag is None:
        return f"its tag has no version of a C library: expected {expected}"
    if not any(tag.includes(one) for one in promised):
        return f"it is for {tag}: expected {expected}, or an older system"

    needed = needed_glibc(wheel)
    if tag.kind == "musllinux" and needed is not None:
        return f"it needs glibc {needed[0]}.{needed[1]}: expected musl only"
    if tag.kind == "manylinux" and needed is None:
        return "its libraries name no version of glibc: expected one"
    if tag.kind == "manylinux" and needed > tag.version():
        return f"it needs glibc {needed[0]}.{needed[1]}: expected at most {tag.major}.{tag.minor}"
    return None


def main():
    folder = Path(sys.argv[1])
    promised = [PlatformTag.parse(text) for text in sys.argv[2:]]
    if not promised or None in promised:
        sys.exit(f"bad arguments {sys.argv[2:]}: expected tags such as manylinux_2_17_x86_64")

    wheels = sorted(folder.glob("*.whl"))
    problems = []
    for wheel in wheels:
        reason = problem(wheel, promised)
        if reason is not None:
            problems.append(f"{wheel.name}: {reason}")

    tags = [tag for tag in map(tag_of, wheels) if tag is not None]
    for one in promised:
        if not any(tag.includes(one) for tag in tags):
            problems.append(f"{folder}: no wheel for {one}: expected one")
    if problems:
        sys.exit("\n".join(problems))

    for wheel in wheels:
        needed = needed_glibc(wheel)
        library = "musl" if needed is None else f"glibc {needed[0]}.{needed[1]}"
        print(f"{wheel.name}: needs {library}")


if __name__ == "__main__":
    main()
