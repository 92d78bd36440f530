"""Writes the licences of all code of other authors in a build.

Usage: licences.py CRATE TRIPLE FILE [FEATURES]

The file lists the packages with their licences, then each text once, with the names of the packages
that have it. A static program also contains musl.
"""

import re
import subprocess
import sys
from pathlib import Path

import dependencies
import release

NAMES = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?", re.IGNORECASE)
RULE = "=" * 80


def texts_in(folder):
    """The licence texts of a package."""
    found = []
    for file in sorted(folder.iterdir()):
        if file.is_file() and NAMES.fullmatch(file.name):
            text = file.read_text(encoding="utf-8", errors="replace")
            found.append("\n".join(line.rstrip() for line in text.strip().splitlines()))
    return found


def musl():
    """The folder of musl's sources, which zig brings along."""
    found = sorted(release.TOOLS.glob("lib/python3*/site-packages/ziglang/lib/libc/musl"))
    if not found:
        sys.exit(f"no musl in {release.TOOLS}: run tools/setup dist")
    return found[0]


def of_rust():
    """The licences of Rust's standard library, as the toolchain has them."""
    sysroot = subprocess.run(
        ["rustc", "--print", "sysroot"], stdout=subprocess.PIPE, encoding="utf-8", check=True,
    ).stdout.strip()
    file = Path(sysroot, "share/doc/rust/COPYRIGHT-library.html")
    if not file.exists():
        sys.exit(f"{file} is missing: expected the licences of the standard library in the toolchain")
    return file


def listing(crate, triple, features=""):
    """The whole file, and the packages without a text of their own."""
    packages = dependencies.packages(crate, triple, features)
    others = [one for _, one in sorted(packages.items()) if one.checksum]
    parts = [(f"{one.name} {one.version}", one.folder) for one in others]
    if triple.endswith("-musl"):
        parts.append(("musl", musl()))

    owners, silent = {}, []
    for name, folder in parts:
        texts = texts_in(folder)
        if not texts:
            silent.append(name)
        for text in texts:
            owners.setdefault(text, []).append(name)

    lines = ["papir contains code of these packages:", ""]
    lines += [f"{one.name} {one.version}: {one.licence or 'see its text'}" for one in others]
    if silent:
        lines += ["", "Of these, the licence is named above, and their package has no text of it:", ""]
        lines += silent
    for text, names in owners.items():
        lines += ["", RULE, *names, RULE, "", text]
    return "\n".join(lines) + "\n", silent


def main():
    crate, triple, file, *features = sys.argv[1:]
    text, silent = listing(crate, triple, *features)
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(text, encoding="utf-8")
    print(f"{file}: {len(text):,} characters")
    if silent:
        print(f"without a text in their package: {', '.join(silent)}", file=sys.stderr)


if __name__ == "__main__":
    main()
