"""Writes the tarball of each target, in target/dist.

Usage: tarball.py [TRIPLE...]

Its only folder has the files of an installation, so that they can be unpacked into /usr/local.
"""

import sys

import archives
import release


def main():
    release.DIST.mkdir(parents=True, exist_ok=True)
    for target in release.chosen(sys.argv[1:]):
        tree = archives.Tree(release.epoch())
        tree.copy(release.existing(target.stage()), f"papir-{release.version()}-{target.triple}")

        content = archives.xz(tree.bytes())
        target.tarball().write_bytes(content)
        print(f"{target.tarball()}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
