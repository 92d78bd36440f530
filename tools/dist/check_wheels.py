"""Checks the wheels with auditwheel, and looks up with the one for glibc: `make dist-check`.

Usage: check_wheels.py AUDITWHEEL

auditwheel reads the versions of symbols on its own, apart from tools/wheel_tags.py. The wheel for musl
is not run: that needs a Python that is linked against musl.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import release

sys.path.append(str(release.ROOT / "tools"))
import wheel_tags  # noqa: E402

# auditwheel wraps its sentences.
CONSISTENT = re.compile(r"is consistent with the following platform tag:\s+\"(\w+)\"")


def audited(auditwheel, wheel):
    """The oldest systems on which auditwheel finds that a wheel runs."""
    shown = subprocess.run(
        [auditwheel, "show", str(wheel)], stdout=subprocess.PIPE, encoding="utf-8", check=True,
    ).stdout
    found = CONSISTENT.search(" ".join(shown.split()))
    tag = wheel_tags.PlatformTag.parse(found[1]) if found else None
    if tag is None:
        sys.exit(f"{wheel.name}: auditwheel names no system with a version:\n{shown}")
    return tag


def check_tag(auditwheel, wheel):
    promised, found = wheel_tags.tag_of(wheel), audited(auditwheel, wheel)
    if promised is None or not found.includes(promised):
        sys.exit(f"{wheel.name}: auditwheel finds {found}: expected {promised}, or an older system")
    print(f"{wheel.name}: auditwheel finds {found}")


def look_up(wheel):
    """Installs a wheel in an environment of its own, and looks up with it."""
    with tempfile.TemporaryDirectory(prefix="papir-wheel-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin/python"))
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-index"]
        subprocess.run([python, *install, str(wheel)], check=True)
        subprocess.run([python, str(release.ROOT / "tools/wheel_lookup.py")], cwd=folder, check=True)


def main():
    auditwheel = sys.argv[1]
    wheels = sorted((release.DIST / "wheels").glob("*.whl"))
    glibc = [one for one in wheels if "-manylinux" in one.name]
    if not glibc:
        sys.exit(f"{release.DIST}/wheels has no wheel for glibc: run make wheels")

    for wheel in glibc:
        check_tag(auditwheel, wheel)
    for wheel in glibc:
        if wheel_tags.tag_of(wheel).machine == release.here().rpm:
            look_up(wheel)
    for wheel in wheels:
        if wheel not in glibc:
            print(f"{wheel.name}: was not run", file=sys.stderr)


if __name__ == "__main__":
    main()
