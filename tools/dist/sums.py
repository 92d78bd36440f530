"""Writes SHA256SUMS of a folder, in the form of sha256sum, or checks it.

Usage: sums.py [--check] FOLDER
"""

import hashlib
import sys
from pathlib import Path

SUMS = "SHA256SUMS"


def files(folder):
    """All files of the release but the sums and their signature."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path for path in found if not path.name.startswith(SUMS))


def text(folder):
    lines = []
    for path in files(folder):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(folder)}\n")
    return "".join(lines)


def check(list_file, found):
    """Ends this process if the list has other files or sums than its folder."""
    listed = set(list_file.read_text(encoding="utf-8").splitlines())
    present = set(found.splitlines())
    problems = [f"listed, and not there: {line}" for line in sorted(listed - present)]
    problems += [f"there, and not listed: {line}" for line in sorted(present - listed)]
    if problems:
        sys.exit("\n".join([f"{list_file} does not match its folder", *problems]))


def main():
    *options, folder = sys.argv[1:]
    list_file = Path(folder, SUMS)
    found = text(Path(folder))
    if not found:
        sys.exit(f"{folder} is empty: run the earlier steps of `make dist` first")
    if options == ["--check"]:
        if not list_file.exists():
            sys.exit(f"{list_file} is missing: run make dist first")
        check(list_file, found)
    else:
        list_file.write_text(found, encoding="utf-8")
    print(f"{list_file}: {len(found.splitlines())} files")


if __name__ == "__main__":
    main()
