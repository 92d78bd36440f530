"""Checks the client against docs/vectors: `python3 check_vectors.py [FOLDER]`. Python 3.10, standard library only."""
import base64
import itertools
import json
import struct
import sys
from pathlib import Path

import inspire
import simple
from client import place_chunk, read_layout
from inspire import Inspire, multiply, stream_words, unpack
from signed import COSIGNATURE, Pin, Trust, read_key
from simple import Simple
from wire import Reader, check, expand

FOLDER = Path(__file__).parent / "../../docs/vectors"
#: Errors beyond this many standard deviations do not occur.
DEVIATIONS = 12


def check_streams(vectors):
    """Bytes and residues of streams."""
    seed, modulus = bytes.fromhex(vectors["seed"]), vectors["modulus"]
    bits = (modulus - 1).bit_length()
    for one in vectors["expansions"]:
        expected = bytes.fromhex(one["stream"])
        check(expand(seed, one["label"], one["index"], len(expected)) == expected, "other bytes of a stream")
        words = (word % 2**bits for word in stream_words(seed, one["label"], one["index"]))
        residues = list(itertools.islice((word for word in words if word < modulus), len(one["residues"])))
        check(residues == one["residues"], "other residues")


def check_keywords(vectors):
    """The records that lookups of keys fetch."""
    layout = read_layout(bytes.fromhex(vectors["layout"]))
    for one in vectors["keys"]:
        records = [place_chunk(layout, one["key"].encode(), chunk)[0] for chunk in range(layout.lookups)]
        check(records == one["records"], f"other records of {one['key']!r}")


def check_lookup(scheme, vectors, selected):
    """The record of an answer, and the selector in a query."""
    public = Reader(base64.b64decode(vectors["public"]))
    client = scheme(bytes.fromhex(vectors["parameters"]), public)
    secret, index = vectors["secret"], vectors["index"]
    record = client.record(base64.b64decode(vectors["answer"]), secret, index)
    check(record.hex() == vectors["record"], "another record")
    selected(client, base64.b64decode(vectors["query"]), secret, index)


def selected_by_simple(client, query, secret, index):
    """Every word of a query is an encryption of its part of the selector."""
    wanted, _ = client.place(index)
    words = struct.unpack(f"<{client.columns}I", query)
    for column, (word, row) in enumerate(zip(words, simple.masks(client.seed, client.columns))):
        error = (word - simple.inner(row, secret) - (simple.DELTA if column == wanted else 0)) % simple.Q
        check(min(error, simple.Q - error) <= DEVIATIONS * simple.SIGMA, f"column {column} of a query")


def selected_by_inspire(client, query, secret, index):
    """The same, for rounded entries of the first block."""
    columns = min(client.columns, inspire.D)
    entries = unpack(query[:-(-columns * client.query_bits // 8)].ljust(inspire.D * client.query_bits // 8, b"\0"),
                     client.query_bits)
    product = multiply(client.mask("inspire/selector", 0), secret)
    rounding = client.q >> client.query_bits
    for column in range(columns):
        phase = (entries[column] * client.q >> client.query_bits) + product[column]
        message = (client.q + 32768) // inspire.P if column == client.place(index)[0] else 0
        error = (phase - message) % client.q
        check(min(error, client.q - error) <= DEVIATIONS * inspire.SIGMA + rounding + 1, f"column {column} of a query")


def check_checkpoints(vectors):
    """The proofs of signed databases that clients accept or refuse."""
    for one in vectors["clients"]:
        owner, highest = read_key(one["owner"]), one["highest"]
        pin = highest and Pin(owner, owner, highest["sequence"], bytes.fromhex(highest["leaf"]))
        witnesses = [read_key(text, COSIGNATURE) for text in one["witnesses"]]
        trust = Trust(owner, pin, None, one["max_age"], witnesses, one["cosignatures"])
        proof, bundle = one["proof"].encode(), bytes.fromhex(one["bundle"])
        try:
            trust.check(vectors["database"].encode(), proof, bundle, now=one["now"])
            refused = None
        except SystemExit as refusal:
            refused = str(refusal)
        check(bool(refused) == bool(one["refused"]), f"{one['name']}: {refused or 'accepted'}")


def main():
    """Checks all files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    vectors = {name: json.loads((folder / f"{name}.json").read_text())
               for name in ("streams", "keywords", "checkpoints", "simple", "inspire")}
    check_streams(vectors["streams"])
    check_keywords(vectors["keywords"])
    check_checkpoints(vectors["checkpoints"])
    check_lookup(Simple, vectors["simple"], selected_by_simple)
    check_lookup(Inspire, vectors["inspire"], selected_by_inspire)
    print("all vectors are right")


if __name__ == "__main__":
    main()
