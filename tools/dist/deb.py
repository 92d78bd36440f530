"""Writes the package for Debian and Ubuntu of each target, with dpkg-deb, in target/dist.

Usage: deb.py [TRIPLE...]
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import installed
import release

CONTROL = """\
Package: papir
Version: {version}
Architecture: {architecture}
Maintainer: papir's authors <papir@localhost>
Installed-Size: {kibibytes}
Depends: passwd
Suggests: ca-certificates, systemd
Section: net
Priority: optional
Description: {description}
 papir looks up a record without telling the server which one. This package
 has the program, which is both server and client, its manual pages, and a
 unit for systemd, which it does not enable.
"""

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: papir

Files: *
Copyright: papir's authors
License: Apache-2.0 or MIT
 The texts are in LICENSE-APACHE and LICENSE-MIT beside this file. The program
 contains code of other authors, whose licences are in THIRD-PARTY.txt and
 RUST-LIBRARY.html.
"""


def sums(root):
    """The package's list of MD5 sums, by which Debian's tools find changed files."""
    lines = []
    for path in sorted((root / "usr").rglob("*")):
        if path.is_file():
            digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
            lines.append(f"{digest}  {path.relative_to(root)}\n")
    return "".join(lines)


def fill(target, root):
    installed.fill(target, root)
    share = root / "usr/share"
    # Debian's name of the folder.
    (share / "zsh/site-functions").rename(share / "zsh/vendor-completions")
    (share / "doc/papir/copyright").write_text(COPYRIGHT, encoding="utf-8")

    control = root / "DEBIAN"
    control.mkdir()
    length = sum(path.stat().st_size for path in (root / "usr").rglob("*") if path.is_file())
    text = CONTROL.format(
        version=release.version(), architecture=target.debian, kibibytes=length // 1024 + 1,
        description=release.DESCRIPTION,
    )
    (control / "control").write_text(text, encoding="utf-8")
    (control / "md5sums").write_text(sums(root), encoding="utf-8")
    for script in ["postinst", "prerm"]:
        shutil.copyfile(release.ROOT / "deploy/packages" / script, control / script)


def main():
    release.DIST.mkdir(parents=True, exist_ok=True)
    for target in release.chosen(sys.argv[1:]):
        with tempfile.TemporaryDirectory(prefix="papir-deb-") as folder:
            root = Path(folder, "root")
            fill(target, root)
            installed.normalize(root)
            # It reads SOURCE_DATE_EPOCH. One thread, as the parts of several would depend on their number.
            build = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z9", "--threads-max=1", "--build"]
            subprocess.run([*build, str(root), str(target.deb())], check=True)


if __name__ == "__main__":
    main()
