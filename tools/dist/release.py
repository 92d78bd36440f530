"""Names, folders and targets of a release."""

import os
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
# The folder that a release uploads.
DIST = ROOT / "target/dist"
# One folder for each target, with the files of an installation.
STAGE = ROOT / "target/stage"
# Of an environment that `tools/setup dist` makes.
TOOLS = ROOT / "target/tools/wheels"

DESCRIPTION = "Private lookups: records by key, without telling the server which"


class Target(NamedTuple):
    """A kind of machine, by the names that Rust, Debian, RPM and OCI images have for it."""

    triple: str
    debian: str
    rpm: str
    image: str

    def program(self):
        """The program that `make dist-programs` builds."""
        return ROOT / "target" / self.triple / "dist/papir"

    def stage(self):
        return STAGE / self.triple

    def tarball(self):
        return DIST / f"papir-{version()}-{self.triple}.tar.xz"

    def deb(self):
        return DIST / f"papir_{version()}_{self.debian}.deb"

    def rpm_file(self):
        return DIST / f"papir-{version()}-1.{self.rpm}.rpm"

    def is_here(self):
        """Returns true if this machine runs its programs."""
        return self.rpm == os.uname().machine


TARGETS = [
    Target("x86_64-unknown-linux-musl", "amd64", "x86_64", "amd64"),
    Target("aarch64-unknown-linux-musl", "arm64", "aarch64", "arm64"),
]


def version():
    """The version of all crates."""
    with (ROOT / "Cargo.toml").open("rb") as file:
        return tomllib.load(file)["workspace"]["package"]["version"]


def image():
    return DIST / f"papir-{version()}-oci.tar"


def epoch():
    """The time of everything in a release, in seconds since 1970."""
    found = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not found.isdecimal():
        sys.exit(f"SOURCE_DATE_EPOCH is {found!r}: expected seconds. Use tools/dist/reproducible")
    return int(found)


def target(triple):
    """The target of this name."""
    for one in TARGETS:
        if one.triple == triple:
            return one
    sys.exit(f"{triple}: expected one of {', '.join(one.triple for one in TARGETS)}")


def here():
    """The target whose programs this machine runs."""
    for one in TARGETS:
        if one.is_here():
            return one
    sys.exit(f"found a machine of kind {os.uname().machine}: a release expects x86_64 or aarch64")


def chosen(arguments):
    """The targets that a command line names; all if it names none."""
    return [target(triple) for triple in arguments] or TARGETS


def existing(path):
    """The path, which an earlier step must have made."""
    if not path.exists():
        sys.exit(f"{path} is missing: run the earlier steps of `make dist` first")
    return path
