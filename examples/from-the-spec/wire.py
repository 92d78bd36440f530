"""What every scheme needs: envelopes, expansion of public seeds, and noise (docs/formats.md).

"§" names a section of formats.md.
"""
import bisect
import math
import secrets
import struct

from aes128 import counter_stream
from blake3 import blake3, derive

PUBLIC, QUERY, ANSWER = 1, 2, 3  # §Message envelope: kinds


def check(condition, complaint):
    """Ends the client if something that was received is wrong."""
    if not condition:
        raise SystemExit(f"refused: {complaint}")


class Reader:
    """Reads little-endian numbers and bytes in sequence."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        """The next `length` bytes."""
        check(self.at + length <= len(self.data), "data that ends early")
        self.at += length
        return self.data[self.at - length:self.at]

    def number(self, length):
        """The next number, of `length` bytes."""
        return int.from_bytes(self.take(length), "little")

    def end(self, what):
        """Refuses bytes that are left."""
        check(self.at == len(self.data), f"{what} that is too long")


def envelope(kind, scheme, version, payload):
    """A message, §Message envelope."""
    body = b"PIR1" + struct.pack("<BBH", kind, 0, scheme) + version + struct.pack("<Q", len(payload)) + payload
    return body + blake3(body)[:8]


def open_envelope(message, kind, scheme, version=None):
    """The version (8 bytes as they are printed) and the payload, §Message envelope."""
    check(message[:4] == b"PIR1" and blake3(message[:-8])[:8] == message[-8:], "damaged envelope")
    found, reserved, number, length = message[4], message[5], *struct.unpack_from("<H8xQ", message, 6)
    check((found, reserved, number) == (kind, 0, scheme), "an envelope of another kind or scheme")
    check(length == len(message) - 32, "an envelope of a wrong length")
    check(version in (None, message[8:16]), "an answer of another version")
    return message[8:16], message[24:-8]


def expand(seed, label, index, length, start=0):
    """`length` bytes of a public seed's stream from position `start` on, §Expansion of seeds."""
    material = seed + struct.pack("<Q", len(label)) + label.encode() + struct.pack("<Q", index)
    key = derive("papir 2026 public expansion v1", material)
    skipped, first = divmod(start, 16)
    counter = (int.from_bytes(key[16:], "big") + skipped) % 2**128
    return counter_stream(key[:16], counter.to_bytes(16, "big"), first + length)[first:]


def gaussian(sigma):
    """A sampler of the discrete Gaussian, cut at 12 standard deviations; it draws from the system's generator."""
    most, total, table = math.ceil(12 * sigma), 0, []
    for x in range(-most, most + 1):
        total += int(math.exp(-x * x / (2 * sigma**2)) * 2**64)
        table.append(total)
    return lambda: bisect.bisect_right(table, secrets.randbelow(total)) - most


def cut_record(unit, slot, record_bits):
    """The record in a slot of a unit without gaps, lowest bits first."""
    value = (int.from_bytes(unit, "little") >> slot * record_bits) % 2**record_bits
    return value.to_bytes(-(-record_bits // 8), "little")
