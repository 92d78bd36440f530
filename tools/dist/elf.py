"""The head of an ELF file: for which machine it is, and whether it needs a loader."""

import struct
import sys
from typing import NamedTuple

MACHINES = {62: "x86_64", 183: "aarch64"}
# A segment that names the program's loader.
INTERPRETER = 3


class Elf(NamedTuple):
    machine: str
    is_static: bool

    @classmethod
    def read(cls, data, name):
        """Reads a file of 64 bits, lowest byte first, as both targets have."""
        if data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{name}: expected an ELF file of 64 bits, found {data[:6]!r}")
        number = struct.unpack_from("<H", data, 18)[0]
        start = struct.unpack_from("<Q", data, 32)[0]
        size, count = struct.unpack_from("<HH", data, 54)

        segments = [struct.unpack_from("<I", data, start + at * size)[0] for at in range(count)]
        return cls(MACHINES.get(number, f"number {number}"), INTERPRETER not in segments)


def expect_static(data, machine, name):
    """Ends this process unless the file is a static program for the machine."""
    found = Elf.read(data, name)
    if found != Elf(machine, True):
        kind = "static" if found.is_static else "dynamic"
        sys.exit(f"{name}: a {kind} program for {found.machine}: expected a static one for {machine}")
