"""Writes the package for Fedora, RHEL and openSUSE of each target, with rpmbuild, in target/dist.

Usage: rpm.py [TRIPLE...]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import installed
import release

SPEC = release.ROOT / "deploy/packages/papir.spec"


def macros(root, top):
    """Settings of rpmbuild: what to pack, where to work, and nothing of this machine in the package."""
    return {
        "papir_files": root,
        "papir_version": release.version(),
        "papir_summary": release.DESCRIPTION,
        "_topdir": top,
        "_dbpath": top / "database",
        "_buildhost": "papir",
        "use_source_date_epoch_as_buildtime": "1",
        "clamp_mtime_to_source_date_epoch": "1",
        # Every rpm since version 4.6 can read it.
        "_binary_payload": "w9.xzdio",
    }


def main():
    release.DIST.mkdir(parents=True, exist_ok=True)
    for target in release.chosen(sys.argv[1:]):
        with tempfile.TemporaryDirectory(prefix="papir-rpm-") as folder:
            root, top = Path(folder, "root"), Path(folder, "top")
            installed.fill(target, root)
            installed.normalize(root)

            command = ["rpmbuild", "-bb", "--quiet", "--target", f"{target.rpm}-linux"]
            for name, value in macros(root, top).items():
                command += ["--define", f"{name} {value}"]
            subprocess.run([*command, str(SPEC)], check=True)

            built = top / "RPMS" / target.rpm / target.rpm_file().name
            shutil.copyfile(release.existing(built), target.rpm_file())
            print(f"{target.rpm_file()}: {target.rpm_file().stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
