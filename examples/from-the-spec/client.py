"""A client of papir's schemes `simple` and `inspire`, written from docs/formats.md alone: Python 3.10, standard
library only.

    python3 client.py http://127.0.0.1:7470/v1/databases/NAME KEY...
    python3 client.py http://127.0.0.1:7470/v1/databases/NAME --index N...
    python3 client.py http://127.0.0.1:7470/v1/databases/NAME --owner KEY --pin FILE --max-age SECONDS KEY...

"§" names a section of formats.md. It is there to be read: it is slow, its time depends on secrets, and it
does not check the server's certificate.
"""
import argparse
import json
import os
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from blake3 import blake3, derive, keyed
from inspire import Inspire
from signed import Behind, read_trust
from simple import Simple
from wire import ANSWER, PUBLIC, QUERY, Reader, check, envelope, open_envelope

SCHEMES = {"simple": Simple, "inspire": Inspire}
WORD64 = 2**64 - 1


# Public data

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
    check(version in (2, 3, 4), f"keyword layout of version {version}")
    fields = [r.take(32), r.take(32)] + [r.number(size) for size in (4, 4, 4, 4, 4, 4, 1, 4)]
    tag_bytes = r.number(1) if version >= 3 else 8
    count = fields[2] * fields[4]
    pilots = struct.unpack(f"<{count}H", r.take(2 * count))
    r.end("a keyword layout")
    return Layout(encoded, *fields, tag_bytes, pilots)


@dataclass
class Database:
    """What a client knows of one version."""
    version: bytes
    scheme: Simple | Inspire
    layout: Layout | None
    top: bytes | None

    @property
    def records(self):
        """Number of records."""
        return self.scheme.records


def read_bundle(bundle, description):
    """Decodes a §Bundle with a public part of a scheme's payloads."""
    check(bundle[:4] == b"PIRB", "no bundle")
    check(bundle[4:6] == b"\1\0", "a bundle of another version")
    check(blake3(bundle[:-8])[:8] == bundle[-8:], "a damaged bundle")
    r = Reader(bundle[6:-8])
    has_layout, verifiable = r.number(1), r.number(1)
    scheme = SCHEMES[description["scheme"]]
    version, payload = open_envelope(r.take(r.number(8)), PUBLIC, scheme.number)
    encoded = r.take(r.number(8))
    top = r.take(32) if verifiable else None
    r.end("a bundle")
    check(version.hex() == description["version"], "a bundle of another version of the database")
    public = Reader(payload)  # §Message envelope
    opened = scheme(public.take(public.number(8)), public)
    public.end("a public part")
    return Database(version, opened, read_layout(encoded) if has_layout else None, top)


# Commitments

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
    size = db.scheme.record_bits // 8 - 32 * (db.records - 1).bit_length()
    layout = commitment("layout", db.layout.encoded if db.layout else b"")
    return commitment("root", struct.pack("<QQ", db.records, size) + db.top + layout)


# HTTP

def proxy_variable(url):
    """The variable that names the proxy for a URL; None for a direct connection, as to this machine."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    if urllib.request.proxy_bypass_environment(f"{host}:{port}"):
        return None
    names = [name for kind in (parts.scheme, "all") for name in (f"{kind}_proxy", f"{kind}_proxy".upper())]
    if "REQUEST_METHOD" in os.environ:  # a CGI program, for which the header `Proxy` of a request sets it
        names = [name for name in names if name != "HTTP_PROXY"]
    return next((name for name in names if os.environ.get(name)), None)


def proxy(url):
    """The proxies of urllib for a URL. One that urllib cannot use is refused, and never passed by."""
    name = proxy_variable(url)
    if name is None:
        return {}
    text = os.environ[name]
    address = text if "://" in text else f"http://{text}"
    try:
        parts = urllib.parse.urlsplit(address)
        usable = parts.scheme == "http" and parts.hostname and parts.port != 0
    except ValueError:  # the port is no number of a port
        usable = False
    # Its text may have a password.
    check(usable, f"{name}: a proxy that this client cannot use: expected http://HOST:PORT")
    return {urllib.parse.urlsplit(url).scheme: address}


def opener(url):
    """Opens a URL through the proxy of the environment, if one applies."""
    return urllib.request.build_opener(urllib.request.ProxyHandler(proxy(url)))


def fetch(url, body=None, version=None):
    """The body of a response, §HTTP, after a check of its version."""
    headers = {"content-type": "application/octet-stream"} if body else {}
    if version:
        headers["papir-version"] = version
    try:
        with opener(url).open(urllib.request.Request(url, body, headers), timeout=60) as response:
            data = response.read()
            if version not in (None, response.headers["papir-version"]):
                raise Behind("a response of another version")
            return data
    except urllib.error.HTTPError as error:  # §Refusals
        raise SystemExit(f"the server: {error.code} {error.read().decode(errors='replace')}")


def open_newest(url, trust):
    """Fetches description, bundle and proof of the newest version, and checks what is signed."""
    description = json.loads(fetch(url))
    check(description["scheme"] in SCHEMES, f"another scheme than {' and '.join(SCHEMES)}")
    check("delta" not in description, "a database with a delta, which this client does not ask (§Query over HTTP)")
    version = description["version"]
    bundle = fetch(f"{url}/public?version={version}", version=version)
    db = read_bundle(bundle, description)
    if not description.get("checkpoint"):
        trust.unsigned()
        return db
    name = urllib.parse.unquote_to_bytes(urllib.parse.urlsplit(url).path.rsplit("/", 1)[1])
    trust.store(trust.check(name, fetch(f"{url}/checkpoint/proof", version=version), bundle, root(db) if db.top else None))
    return db


def open_database(url, trust, catch_up):
    """The newest version; a service that is behind is asked again for some seconds (§Checks of a client)."""
    end = time.monotonic() + catch_up
    while True:
        try:
            return open_newest(url, trust)
        except Behind as behind:
            check(time.monotonic() < end, behind)
            time.sleep(5)


def lookup_record(url, db, index):
    """A record by its number."""
    check(0 <= index < db.records, f"index {index}: there are {db.records} records")
    payload, secret = db.scheme.query(index)
    query = envelope(QUERY, db.scheme.number, db.version, payload)
    answer = fetch(f"{url}/query", query, db.version.hex())
    _, payload = open_envelope(answer, ANSWER, db.scheme.number, db.version)
    return verified(db, index, db.scheme.record(payload, secret, index))


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
    parser = argparse.ArgumentParser(description="Look up keys in a papir database.")
    parser.add_argument("url", help="http://HOST:PORT/v1/databases/NAME")
    parser.add_argument("keys", nargs="+", metavar="KEY")
    parser.add_argument("--index", action="store_true", help="the keys are record numbers")
    parser.add_argument("--owner", metavar="KEY", help="the public key of the database's owner")
    parser.add_argument("--pin", metavar="FILE", help="what the client remembers of a signed database")
    parser.add_argument("--max-age", metavar="SECONDS", type=int, help="refuse an older checkpoint")
    parser.add_argument("--witness", metavar="KEY", action="append", default=[], help="a known witness")
    parser.add_argument("--cosignatures", metavar="N", type=int, default=0, help="refuse fewer cosignatures")
    parser.add_argument("--catch-up", metavar="SECONDS", type=int, default=30, help="for a service that is behind")
    options = parser.parse_args()
    trust = read_trust(options.owner, options.pin, options.max_age, options.witness, options.cosignatures)
    options.url = options.url.rstrip("/")
    db = open_database(options.url, trust, options.catch_up)
    check(options.index == (db.layout is None), "this database is looked up the other way (--index)")
    if db.top:
        print("root", root(db).hex(), file=sys.stderr)
    for key in options.keys:
        value = lookup_record(options.url, db, int(key)) if options.index else lookup_key(options.url, db, key.encode())
        print(json.dumps({"key": key, "value": None if value is None else value.decode("latin-1")}))


if __name__ == "__main__":
    main()
