"""Checks the packages for Fedora, RHEL and openSUSE by rpm: `make dist-check`.

Usage: check_rpms.py

The digests in each package are right, it belongs to root, and its program is that of the tarball. The
one for this machine is installed in an empty folder without its scripts, as there is no such system
here.
"""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import release

PROGRAM = "/usr/bin/papir"
FORMAT = "[%{FILENAMES} %{FILEUSERNAME} %{FILEDIGESTS}\n]"


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def check_content(target):
    """Compares the list of files with the tarball's program."""
    package = str(release.existing(target.rpm_file()))
    output("rpm", "--checksig", "--nosignature", package)
    rows = [line.split(" ") for line in output("rpm", "-qp", "--queryformat", FORMAT, package).splitlines()]
    owners = {owner for _, owner, _ in rows}
    if owners != {"root"}:
        sys.exit(f"{package}: files of {', '.join(sorted(owners))}: expected root only")

    name = f"papir-{release.version()}-{target.triple}/bin/papir"
    with tarfile.open(target.tarball()) as archive:
        expected = hashlib.sha256(archive.extractfile(name).read()).hexdigest()
    digests = {name: digest for name, _, digest in rows}
    if digests.get(PROGRAM) != expected:
        sys.exit(f"{package} has another program than {target.tarball().name}")
    print(f"{target.rpm_file().name}: {len(rows)} files, the program of the tarball")


def check_installed(target):
    """Installs the package in an empty folder, and runs its program."""
    with tempfile.TemporaryDirectory(prefix="papir-rpm-") as root:
        install = ["rpm", "--root", root, "--install", "--nodeps", "--noscripts"]
        output(*install, str(target.rpm_file()))
        output("rpm", "--root", root, "--verify", "--nodeps", "papir")
        found = output(f"{root}{PROGRAM}", "--version").strip()
        if found != f"papir {release.version()}":
            sys.exit(f"{PROGRAM} --version: found {found!r}, expected 'papir {release.version()}'")
        pages = list(Path(root, "usr/share/man/man1").iterdir())
        print(f"{target.rpm_file().name}: installed, with {len(pages)} manual pages")


def main():
    for target in release.TARGETS:
        check_content(target)
    if os.geteuid() == 0:
        check_installed(release.here())
    else:
        print("no RPM was installed: that needs root's rights", file=sys.stderr)


if __name__ == "__main__":
    main()
