"""Checks the JAR for Kotlin: its native libraries, and the oldest glibc that they need.

Usage: check_jar.py

`make dist-check` also runs the tests from Kotlin with the library for this machine.
"""

import sys
import zipfile

import elf
import natives
import release

sys.path.append(str(release.ROOT / "tools"))
import wheel_tags  # noqa: E402

# As the wheels.
OLDEST_GLIBC = (2, 17)


def main():
    jar = release.existing(release.DIST / f"papir-{release.version()}.jar")
    with zipfile.ZipFile(jar) as archive:
        names = set(archive.namelist())
        for platform, triple in natives.PLATFORMS.items():
            name = f"{platform}/{natives.LIBRARY}"
            if name not in names:
                sys.exit(f"{jar.name} has no {name}")
            machine = elf.Elf.read(archive.read(name), name).machine
            if not triple.startswith(machine):
                sys.exit(f"{jar.name}: {name} is for {machine}, not for {triple}")
    if "papir/Database.class" not in names:
        sys.exit(f"{jar.name} has no class papir.Database")

    needed = wheel_tags.needed_glibc(jar)
    if needed is None or needed > OLDEST_GLIBC:
        sys.exit(f"{jar.name} needs glibc {needed}: expected at most {OLDEST_GLIBC}")
    print(f"{jar.name}: {len(natives.PLATFORMS)} native libraries, glibc {needed[0]}.{needed[1]}")


if __name__ == "__main__":
    main()
