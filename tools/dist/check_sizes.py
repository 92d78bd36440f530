"""Checks that a release has every file, and that none is longer than users expect: `make dist-check`.

Usage: check_sizes.py
"""

import sys
from typing import NamedTuple

import release

MB = 1_000_000


class Kind(NamedTuple):
    """Files of one kind: how many a release has, and the most bytes of each."""

    pattern: str
    count: int
    most: int


KINDS = [
    # A program for one kind of machine, compressed.
    Kind("papir-*.tar.xz", 2, 20 * MB),
    Kind("papir_*.deb", 2, 20 * MB),
    Kind("papir-*.rpm", 2, 20 * MB),
    # Programs for two.
    Kind("papir-*-oci.tar", 1, 40 * MB),
    Kind("wheels/pypapir-*.whl", 2, 20 * MB),
    Kind("wheels/pypapir-*.tar.gz", 1, 20 * MB),
    # Eight modules, each within the limit of js/tests/released.test.mjs.
    Kind("papir-*.tgz", 1, 8 * MB),
    # The native library for two kinds of machines.
    Kind("papir-*.jar", 1, 20 * MB),
    Kind("papir-*.cdx.json", 4, 5 * MB),
    Kind("SHA256SUMS", 1, MB),
]
SIGNATURE = release.DIST / "SHA256SUMS.minisig"


def main():
    problems, known = [], {SIGNATURE}
    for kind in KINDS:
        found = sorted(release.DIST.glob(kind.pattern))
        known.update(found)
        if len(found) != kind.count:
            problems.append(f"{kind.pattern}: {len(found)} files, expected {kind.count}")
        for path in found:
            length = path.stat().st_size
            print(f"{path.relative_to(release.DIST)}: {length / MB:.1f} MB of {kind.most / MB:.0f}")
            if length > kind.most:
                problems.append(f"{path.name}: {length:,} bytes, expected at most {kind.most:,}")

    files = [path for path in release.DIST.rglob("*") if path.is_file()]
    problems += [f"{path}: no part of a release" for path in sorted(files) if path not in known]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
