"""Checks the programs in the tarballs: `make dist-check`.

Usage: check_programs.py

The program for this machine runs in a root with nothing but itself, as a user without rights; one
for another machine runs in an emulator (qemu-user). Each builds, serves and looks up. Needs root,
for chroot.
"""

import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import elf
import release
import trial

USER = 65532


def unpacked(target, folder):
    """The program of a tarball, in a folder."""
    name = f"papir-{release.version()}-{target.triple}/bin/papir"
    with tarfile.open(release.existing(target.tarball())) as archive:
        content = archive.extractfile(name).read()
    elf.expect_static(content, target.rpm, name)

    program = folder / "papir"
    program.write_bytes(content)
    program.chmod(0o755)
    return program


def in_a_root(root):
    """Runs the program in a root that has it and an empty folder."""
    root.chmod(0o755)
    data = root / "data"
    data.mkdir()
    os.chown(data, USER, USER)

    command = ["chroot", f"--userspec={USER}:{USER}", str(root), "/papir"]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PAPIR_LOG": "warn", "TMPDIR": "/data"}
    return trial.Trial(command, data, "/data", environment)


def in_an_emulator(target, program, folder):
    emulator = f"qemu-{target.rpm}"
    if not shutil.which(emulator):
        sys.exit(f"{emulator} is missing: run tools/setup dist-check")
    environment = {"PATH": os.environ["PATH"], "PAPIR_LOG": "warn", "TMPDIR": str(folder)}
    return trial.Trial([emulator, str(program)], folder, str(folder), environment)


def main():
    if os.geteuid() != 0:
        sys.exit("the check of the programs needs root's rights, for chroot")
    for target in release.TARGETS:
        with tempfile.TemporaryDirectory(prefix="papir-program-") as folder:
            folder = Path(folder)
            program = unpacked(target, folder)
            if target.is_here():
                one, where = in_a_root(folder), "in a root of its own"
            else:
                one, where = in_an_emulator(target, program, folder), "in an emulator"
            trial.expect_version(one, release.version())
            trial.look_up(one)
            print(f"{target.triple}: built, served and looked up {where}")


if __name__ == "__main__":
    main()
