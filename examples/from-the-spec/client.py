"""A client of papir's scheme `simple`, written from docs/formats.md alone: Python 3.10, standard library only.

    python3 client.py http://127.0.0.1:7470/v1/databases/NAME KEY...
    python3 client.py http://127.0.0.1:7470/v1/databases/NAME --index N...

"§" names a section of formats.md. It is there to be read: it is slow, its time depends on secrets, and it
checks neither the checkpoint of a signed database nor the server's certificate.
"""
import argparse
import bisect
import json
import math
import secrets
import struct
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass

from aes128 import counter_stream
from blake3 import blake3, derive, keyed

PUBLIC, QUERY, ANSWER = 1, 2, 3  # §Message envelope: kinds
SIMPLE = 1  # §Message envelope: the scheme's number
N = 1024  # §simple payloads: words of the secret
Q = 2**32
DELTA, SIGMA = 2**24, 11  # §simple payloads: constants, since a server could choose a sigma of 0
WORD64 = 2**64 - 1


# Envelopes and expansion

def envelope(kind, version, payload):
    """A message, §Message envelope."""
    body = b"PIR1" + struct.pack("<BBH", kind, 0, SIMPLE) + version + struct.pack("<Q", len(payload)) + payload
    return body + blake3(body)[:8]


def open_envelope(message, kind, version=None):
    """The version (8 bytes as they are printed) and the payload, §Message envelope."""
    check(message[:4] == b"PIR1" and blake3(message[:-8])[:8] == message[-8:], "damaged envelope")
    found, reserved, scheme, length = message[4], message[5], *struct.unpack_from("<H8xQ", message, 6)
    check((found, reserved, scheme) == (kind, 0, SIMPLE), "an envelope of another kind or scheme")
    check(length == len(message) - 32, "an envelope of a wrong length")
    check(version in (None, message[8:16]), "an answer of another version")
    return message[8:16], message[24:-8]


def expand(seed, label, index, length):
    """`length` bytes of a public seed's stream, §Expansion of seeds."""
    material = seed + struct.pack("<Q", len(label)) + label.encode() + struct.pack("<Q", index)
    key = derive("papir 2026 public expansion v1", material)
    return counter_stream(key[:16], key[16:], length)


def check(condition, complaint):
    """Ends the client if something that was received is wrong."""
    if not condition:
        raise SystemExit(f"refused: {complaint}")


# Public data

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


@dataclass
class Layout:
    """§Keyword layout."""
    encoded: bytes
    ids: bytes
    places: bytes
    regions: int
    buckets: int
    pilots_each: int
    bucket_bytes: int
    lookups: int
    longest: int
    length_bytes: int
    most_payload: int
    tag_bytes: int
    pilots: tuple


def read_layout(encoded):
    """Decodes a keyword layout."""
    r = Reader(encoded)
    version = r.number(2)
    check(version in (2, 3), f"keyword layout of version {version}")
    fields = [r.take(32), r.take(32)] + [r.number(size) for size in (4, 4, 4, 4, 4, 4, 1, 4)]
    tag_bytes = r.number(1) if version == 3 else 8
    count = fields[2] * fields[4]
    pilots = struct.unpack(f"<{count}H", r.take(2 * count))
    check(r.at == len(encoded), "a keyword layout that is too long")
    return Layout(encoded, *fields, tag_bytes, pilots)


@dataclass
class Database:
    """What a client knows of one version."""
    version: bytes
    records: int
    record_bits: int
    units_of_column: int
    seed: bytes
    failure: int
    hint: memoryview
    layout: Layout | None
    top: bytes | None

    @property
    def records_of_unit(self):
        """§simple payloads: the fewest records that fill whole bytes."""
        return math.lcm(self.record_bits, 8) // self.record_bits

    @property
    def unit_bytes(self):
        """Bytes of a unit."""
        return self.records_of_unit * self.record_bits // 8

    @property
    def rows(self):
        """Rows of D: the bytes of a column."""
        return self.unit_bytes * self.units_of_column

    @property
    def columns(self):
        """Columns of D."""
        return -(-self.records // (self.records_of_unit * self.units_of_column))

    @property
    def errors(self):
        """B of §simple payloads: the most that errors add to a row, but with a tiny probability."""
        deviations = math.sqrt(2 * math.log(2) * (9 + self.failure + math.log2(self.rows)))
        return math.ceil(SIGMA * 128 * math.sqrt(self.columns) * deviations)

    @property
    def answer_bits(self):
        """Bits of an answer's word, §simple payloads."""
        return next(bits for bits in range(9, 33) if self.errors + 2**(31 - bits) <= 0.9 * DELTA / 2)


def read_bundle(bundle, description):
    """Decodes a §Bundle with a public part of §simple payloads."""
    check(bundle[:4] == b"PIRB", "no bundle")
    check(bundle[4:6] == b"\1\0", "a bundle of another version")
    check(blake3(bundle[:-8])[:8] == bundle[-8:], "a damaged bundle")
    r = Reader(bundle[6:-8])
    has_layout, verifiable = r.number(1), r.number(1)
    version, payload = open_envelope(r.take(r.number(8)), PUBLIC)
    encoded = r.take(r.number(8))
    top = r.take(32) if verifiable else None
    check(r.at == len(r.data), "a bundle that is too long")
    check(version.hex() == description["version"], "a bundle of another version of the database")
    public = Reader(payload)
    parameters = public.take(public.number(8))
    # §Message envelope: one byte more states a bound on failures below 2^-40.
    check(len(parameters) in (24, 25), "parameters of another length")
    failure = parameters[24] if len(parameters) == 25 else 40
    records, record_bits, units = struct.unpack_from("<3Q", parameters)
    check(0 not in (records, record_bits, units), "empty parameters")
    db = Database(version, records, record_bits, units, public.take(32), failure, None,
                  read_layout(encoded) if has_layout else None, top)
    db.hint = memoryview(public.take(4 * N * db.rows)).cast("I")
    check(public.at == len(payload), "a public part that is too long")
    return db


# Queries and answers

def gaussian_table():
    """Cumulative weights of the discrete Gaussian on -132 to 132: 12 standard deviations."""
    total, table = 0, []
    for x in range(-12 * SIGMA, 12 * SIGMA + 1):
        total += int(math.exp(-x * x / (2 * SIGMA**2)) * 2**64)
        table.append(total)
    return table


GAUSSIAN = gaussian_table()


def noise():
    """One noise term, from the system's generator."""
    return bisect.bisect_right(GAUSSIAN, secrets.randbelow(GAUSSIAN[-1])) - 12 * SIGMA


def fresh_secret():
    """The secret of one query, distributed as the noise, §simple payloads."""
    return [noise() % Q for _ in range(N)]


def inner(a, b):
    """The inner product modulo q."""
    return sum(map(int.__mul__, a, b)) % Q


def masks(seed, columns):
    """The rows of A, one for each column of D, §Negacyclic masks."""
    for block in range(-(-columns // N)):
        a = struct.unpack(f"<{N}I", expand(seed, "simple/lwe-matrix", block, 4 * N))
        both = [-x for x in a[::-1]] + list(a[::-1])
        for c in range(min(N, columns - block * N)):
            # a[c], …, a[0], -a[N-1], …, -a[c+1]
            yield both[2 * N - 1 - c:] + both[:N - 1 - c]


def make_query(db, column, secret):
    """The envelope of a query for one column: A·s + e, plus delta in the column's word."""
    words = [(inner(row, secret) + noise() + (DELTA if c == column else 0)) % Q
             for c, row in enumerate(masks(db.seed, db.columns))]
    return envelope(QUERY, db.version, struct.pack(f"<{len(words)}I", *words))


def open_answer(db, message, secret, rows):
    """The bytes of D in the wanted column and these rows."""
    _, payload = open_envelope(message, ANSWER, db.version)
    bits, packed = db.answer_bits, int.from_bytes(payload, "little")  # §Packed coefficients
    check(len(payload) == -(-db.rows * bits // 8) and packed >> db.rows * bits == 0, "an answer of a wrong length")
    out = bytearray()
    for r in rows:
        word = (packed >> r * bits) % 2**bits << 32 - bits
        byte, distance = divmod(word - inner(db.hint[N * r:N * r + N], secret) + DELTA // 2, DELTA)
        check(abs(distance - DELTA // 2) <= db.errors + 2**(31 - bits), "an answer that does not decode")
        out.append((byte + 128) % 256)  # D's bytes are centred
    return bytes(out)


def cut_record(db, unit, record):
    """A record of a unit, lowest bits first."""
    shift = record % db.records_of_unit * db.record_bits
    value = (int.from_bytes(unit, "little") >> shift) % 2**db.record_bits
    return value.to_bytes(-(-db.record_bits // 8), "little")


def commitment(kind, data):
    """A hash of a §Commitment."""
    return derive(f"papir 2026 commitment {kind} v1", data)


def verified(db, index, record):
    """The record without its proof, of a verifiable database (§Commitment)."""
    if db.top is None:
        return record
    proof_bytes = 32 * (db.records - 1).bit_length()
    content, proof = record[:-proof_bytes or None], record[len(record) - proof_bytes:]
    node = commitment("leaf", content)
    for at in range(0, proof_bytes, 32):
        sibling = proof[at:at + 32]
        node = commitment("node", sibling + node if index >> at // 32 & 1 else node + sibling)
    check(node == db.top, "a record that the hash tree does not contain")
    return content


def root(db):
    """The root of a verifiable database, §Commitment."""
    size = db.record_bits // 8 - 32 * (db.records - 1).bit_length()
    layout = commitment("layout", db.layout.encoded if db.layout else b"")
    return commitment("root", struct.pack("<QQ", db.records, size) + db.top + layout)


# HTTP

def fetch(url, body=None, version=None):
    """The body of a response, §HTTP, after a check of its version."""
    headers = {"content-type": "application/octet-stream"} if body else {}
    if version:
        headers["papir-version"] = version
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as response:
            data = response.read()
            check(version in (None, response.headers["papir-version"]), "a response of another version")
            return data
    except urllib.error.HTTPError as error:  # §Refusals
        raise SystemExit(f"the server: {error.code} {error.read().decode(errors='replace')}")


def open_database(url):
    """Fetches description and bundle of the newest version."""
    description = json.loads(fetch(url))
    check(description["scheme"] == "simple", "another scheme than simple")
    check("delta" not in description, "a database with a delta, which has another scheme (§Query over HTTP)")
    version = description["version"]
    return read_bundle(fetch(f"{url}/public?version={version}", version=version), description)


def lookup_record(url, db, index):
    """A record by its number."""
    check(0 <= index < db.records, f"index {index}: there are {db.records} records")
    unit = index // db.records_of_unit
    column, place = divmod(unit, db.units_of_column)
    secret = fresh_secret()
    answer = fetch(f"{url}/query", make_query(db, column, secret), db.version.hex())
    rows = range(place * db.unit_bytes, (place + 1) * db.unit_bytes)
    return verified(db, index, cut_record(db, open_answer(db, answer, secret, rows), index))


# Keys

def mix(x):
    """SplitMix64's finalizer."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD64
    return x ^ x >> 31


def place_chunk(layout, key, chunk):
    """The bucket and the stored tag of a key's chunk, §Keyword layout."""
    name = keyed(layout.ids, key)[:16]
    output = keyed(layout.places, name + struct.pack("<I", chunk), 24)
    place, spot = struct.unpack("<QQ", output[8:])
    region = place * layout.regions >> 64
    pilot = layout.pilots[region * layout.pilots_each + ((place % 2**32) * layout.pilots_each >> 32)]
    bucket = mix(spot ^ pilot * 0x9E3779B97F4A7C15 & WORD64) * layout.buckets >> 64
    tag = output[:layout.tag_bytes]
    return region * layout.buckets + bucket, tag if any(tag) else b"\1".ljust(layout.tag_bytes, b"\0")


def find_entry(layout, bucket, tag):
    """Bytes of the value from this chunk on, and those of the chunk; None without an entry of this tag."""
    r = Reader(bucket)
    while len(bucket) - r.at >= layout.tag_bytes + layout.length_bytes:
        found = r.take(layout.tag_bytes)
        if not any(found):
            return None
        remaining = r.number(layout.length_bytes) if layout.length_bytes else layout.most_payload
        payload = r.take(min(remaining, layout.most_payload))
        if found == tag:
            return remaining, payload
    return None


def lookup_key(url, db, key):
    """The value of a key, or None if it is absent."""
    entries = []
    for chunk in range(db.layout.lookups):  # all of them, whatever the key
        index, tag = place_chunk(db.layout, key, chunk)
        entries.append(find_entry(db.layout, lookup_record(url, db, index), tag))
    if entries[0] is None:
        return None
    chunks = max(1, -(-entries[0][0] // (db.layout.most_payload or 1)))
    check(None not in entries[:chunks], "a value without one of its chunks")
    return b"".join(payload for _, payload in entries[:chunks])


def main():
    """Looks up keys or indices, and prints one JSON line for each."""
    parser = argparse.ArgumentParser(description="Look up keys in a papir database of the scheme simple.")
    parser.add_argument("url", help="http://HOST:PORT/v1/databases/NAME")
    parser.add_argument("keys", nargs="+", metavar="KEY")
    parser.add_argument("--index", action="store_true", help="the keys are record numbers")
    options = parser.parse_args()
    db = open_database(options.url)
    check(options.index == (db.layout is None), "this database is looked up the other way (--index)")
    if db.top:
        print("root", root(db).hex(), file=sys.stderr)
    for key in options.keys:
        value = lookup_record(options.url, db, int(key)) if options.index else lookup_key(options.url, db, key.encode())
        print(json.dumps({"key": key, "value": None if value is None else value.decode("latin-1")}))


if __name__ == "__main__":
    main()
