"""The packages of other authors and of papir that a crate is built from."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

import release

CARGO = os.environ.get("CARGO", "cargo")
LINE = re.compile(r"(\S+) v(\S+)(?: .*)?")


class Package(NamedTuple):
    """One package of one version."""

    name: str
    version: str
    # An SPDX expression; empty if the package states none.
    licence: str
    folder: Path
    # SHA-256 of its file in the registry; None for papir's own crates.
    checksum: str | None
    # Name and version of each package that it is built from.
    needs: tuple

    def key(self):
        return self.name, self.version


def output(*command):
    return subprocess.run(
        command, cwd=release.ROOT, stdout=subprocess.PIPE, encoding="utf-8", check=True,
    ).stdout


def built_keys(crate, triple, features):
    """Names and versions of what a build of the crate compiles, build scripts included."""
    command = [CARGO, "tree", "--locked", "-p", crate, "--target", triple, "--edges", "normal,build"]
    if features:
        command += ["--features", features]
    lines = output(*command, "--prefix", "none", "--format", "{p}").splitlines()
    return {LINE.fullmatch(line).groups() for line in lines if line.strip()}


def checksums():
    """The checksum of each package in Cargo.lock that has one."""
    with (release.ROOT / "Cargo.lock").open("rb") as file:
        locked = tomllib.load(file)["package"]
    return {(one["name"], one["version"]): one.get("checksum") for one in locked}


def needed(node):
    """The ids of the packages that one is built from, without those of its tests."""
    for one in node["deps"]:
        kinds = [kind["kind"] for kind in one["dep_kinds"]]
        if any(kind != "dev" for kind in kinds):
            yield one["pkg"]


def packages(crate, triple, features=""):
    """The packages of a crate's build for a target, by name and version; the crate is one of them."""
    host = re.search(r"^host: (\S+)$", output("rustc", "-vV"), re.MULTILINE)[1]
    platforms = ["--filter-platform", triple, "--filter-platform", host]
    metadata = json.loads(output(CARGO, "metadata", "--locked", "--format-version", "1", *platforms))

    built = built_keys(crate, triple, features)
    keys = {one["id"]: (one["name"], one["version"]) for one in metadata["packages"]}
    needs = {}
    for node in metadata["resolve"]["nodes"]:
        inner = {keys[one] for one in needed(node)}
        needs[node["id"]] = tuple(sorted(inner & built))

    known = checksums()
    found = {}
    for one in metadata["packages"]:
        key = keys[one["id"]]
        if key in built:
            # Before SPDX expressions, a slash stood for "or".
            licence = re.sub(r"\s*/\s*", " OR ", one["license"] or "")
            folder = Path(one["manifest_path"]).parent
            found[key] = Package(*key, licence, folder, known.get(key), needs.get(one["id"], ()))

    missing = built - found.keys()
    if missing:
        raise SystemExit(f"cargo metadata does not know {sorted(missing)}, which cargo tree names")
    return found
