"""The files that packages install below /, made from a target's stage."""

import gzip
import os
import shutil

import release

# Where a package puts its program, in place of a person's /usr/local.
MOVED = {b"/usr/local/bin/papir": b"/usr/bin/papir"}
# The program, and the scripts of a package for Debian.
PROGRAMS = {"usr/bin/papir", "DEBIAN/postinst", "DEBIAN/prerm"}


def fill(target, root):
    """Fills an empty folder with the files of a package for the target."""
    shutil.copytree(release.existing(target.stage()), root / "usr")
    unit = root / "usr/lib/systemd/system/papir.service"
    text = unit.read_bytes()
    for old, new in MOVED.items():
        text = text.replace(old, new)
    unit.write_bytes(text)

    users = root / "usr/lib/sysusers.d/papir.conf"
    users.parent.mkdir(parents=True)
    shutil.copyfile(release.ROOT / "deploy/packages/papir.sysusers", users)

    for page in (root / "usr/share/man/man1").iterdir():
        compressed = gzip.compress(page.read_bytes(), compresslevel=9, mtime=0)
        page.with_name(f"{page.name}.gz").write_bytes(compressed)
        page.unlink()
    (root / "etc/papir").mkdir(parents=True)


def normalize(root):
    """Gives all files below a folder the modes and times of a release."""
    for path in [*sorted(root.rglob("*"), reverse=True), root]:
        is_open = path.is_dir() or str(path.relative_to(root)) in PROGRAMS
        path.chmod(0o755 if is_open else 0o644)
        os.utime(path, (release.epoch(), release.epoch()))
