"""Builds a wheel from the source distribution alone, and looks up with it: `make dist-check`.

Usage: check_sdist.py

As pip does where no wheel fits, with maturin of target/tools. The profile is the quick one: what is
checked is that the sources are complete.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import check_wheels
import release


def build(sdist, out):
    """Builds a wheel in a folder, and returns its path."""
    environment = {
        **os.environ,
        "PATH": f"{release.TOOLS}/bin:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(release.ROOT / "target/sdist"),
        "MATURIN_PEP517_ARGS": "--profile dev",
    }
    command = [f"{release.TOOLS}/bin/python", "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", out]
    subprocess.run([*command, *options, str(sdist)], env=environment, check=True)
    (wheel,) = Path(out).glob("pypapir-*.whl")
    return wheel


def main():
    found = sorted((release.DIST / "wheels").glob("pypapir-*.tar.gz"))
    if len(found) != 1:
        sys.exit(f"{release.DIST}/wheels has {len(found)} source distributions: expected 1")
    with tempfile.TemporaryDirectory(prefix="papir-sdist-") as out:
        check_wheels.look_up(build(found[0], out))
    print(f"{found[0].name}: built, installed and looked up")


if __name__ == "__main__":
    main()
