"""Puts the native libraries of the JAR for Kotlin where JNA looks for them, and papir's licences.

Usage: natives.py FOLDER
"""

import shutil
import sys
from pathlib import Path

import release

# JNA's name of a platform, and Rust's.
PLATFORMS = {
    "linux-x86-64": "x86_64-unknown-linux-gnu",
    "linux-aarch64": "aarch64-unknown-linux-gnu",
}
LIBRARY = "libpapir_ffi.so"
LICENCES = "META-INF/papir"


def main():
    folder = Path(sys.argv[1])
    # The bindings have left the library of a build for tests.
    shutil.rmtree(folder, ignore_errors=True)
    for platform, triple in PLATFORMS.items():
        built = release.existing(release.ROOT / "target" / triple / "dist" / LIBRARY)
        (folder / platform).mkdir(parents=True)
        shutil.copyfile(built, folder / platform / LIBRARY)
        print(f"{folder / platform / LIBRARY}: {built.stat().st_size:,} bytes")

    (folder / LICENCES).mkdir(parents=True)
    for name in ["LICENSE-APACHE", "LICENSE-MIT"]:
        shutil.copyfile(release.ROOT / name, folder / LICENCES / name)


if __name__ == "__main__":
    main()
