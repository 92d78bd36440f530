"""Installs the package for Debian in new systems, and runs the demo there: `make dist-check`.

Usage: check_debs.py

Makes a minimal Debian of each release by debootstrap. Needs root, and a network for its packages.
Packages for other machines are only compared with their tarballs.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path

import release

sys.path.append(str(release.ROOT / "tools"))
import image_check  # noqa: E402

RELEASES = ["bookworm", "trixie"]
DATA = release.ROOT / "demo/data/common-passwords.csv"
INSTALLED = [
    "usr/bin/papir",
    "usr/lib/systemd/system/papir.service",
    "usr/share/bash-completion/completions/papir",
    "usr/share/man/man1/papir.1.gz",
    "usr/share/man/man1/papir-serve.1.gz",
]


@contextmanager
def processes(root):
    """Gives a root its view of processes: the demo starts its own program again, by that."""
    folder = root / "proc"
    mounted = subprocess.run(["mount", "-t", "proc", "proc", str(folder)], check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def run(root, *command):
    """Runs a command in a root, which must succeed. Returns what it prints."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["chroot", str(root), *command], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
    )
    if done.returncode != 0:
        sys.exit(f"in {root}: {' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def check_installed(root, target):
    """Installs the package, runs the demo, and removes the package."""
    shutil.copyfile(release.existing(target.deb()), root / "papir.deb")
    shutil.copyfile(DATA, root / "passwords.csv")
    run(root, "dpkg", "--install", "/papir.deb")

    missing = [name for name in INSTALLED if not (root / name).exists()]
    if missing:
        sys.exit(f"{target.deb().name} did not install {', '.join(missing)}")
    run(root, "getent", "group", "papir-secrets")
    run(root, "dpkg", "--verify", "papir")
    found = run(root, "papir", "--version").strip()
    if found != f"papir {release.version()}":
        sys.exit(f"papir --version: found {found!r}, expected 'papir {release.version()}'")

    with processes(root) as mounted:
        if mounted:
            run(root, "papir", "demo", "--data", "/passwords.csv")
        else:
            print("`papir demo` did not run: this machine may not mount /proc", file=sys.stderr)
    run(root, "dpkg", "--purge", "papir")
    left = [name for name in INSTALLED if (root / name).exists()]
    if left:
        sys.exit(f"{target.deb().name} left {', '.join(left)} when it was removed")


def check_content(target):
    """Compares the program of a package with that of the tarball."""
    packed = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", str(release.existing(target.deb()))],
        stdout=subprocess.PIPE, check=True,
    ).stdout
    with tempfile.TemporaryFile() as file:
        file.write(packed)
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            found = archive.extractfile("./usr/bin/papir").read()

    name = f"papir-{release.version()}-{target.triple}/bin/papir"
    with tarfile.open(target.tarball()) as archive:
        expected = archive.extractfile(name).read()
    if found != expected:
        sys.exit(f"{target.deb().name} has another program than {target.tarball().name}")
    print(f"{target.deb().name}: the program of the tarball")


def main():
    missing = [tool for tool in ["debootstrap", "chroot"] if not shutil.which(tool)]
    missing += ["root's rights, for chroot"] if os.geteuid() != 0 else []
    if missing:
        sys.exit(f"the check of the packages needs, and does not find: {', '.join(missing)}")

    for target in release.TARGETS:
        check_content(target)
    for name in RELEASES:
        with tempfile.TemporaryDirectory(prefix="papir-deb-") as root:
            os.chmod(root, 0o755)
            image_check.bootstrap(root, f"debian:{name}-slim")
            check_installed(Path(root), release.here())
            print(f"{name}: installed, ran and removed {release.here().deb().name}")


if __name__ == "__main__":
    main()
