"""Writes or checks the vectors by which tests of the Rust code are tied to the models.

Usage: vectors.py [--check]

Results are computed from the definitions, in Python integers. Each file of docs/vectors/arithmetic
has tables; a row is the arguments of a function and its results.
"""

import json
import sys
from itertools import product
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "vectors" / "arithmetic"

WORDS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
LONGS = (0, 1, 0xFFFFFFFF, 1 << 32, (1 << 52) - 1, 1 << 52, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
MODULI = (2, 3, 255, 256, 257, 65_537, 268_369_921, (1 << 29) - 1, 1 << 29, (1 << 30) - 1)
LARGE_MODULI = ((1 << 31) - 1, (1 << 32) + 15, (1 << 49) + 1, (1 << 50) - 27, (1 << 50) - 1)
WIDE_MODULI = (3, 257, 65_537, *LARGE_MODULI)


def ends(q):
    """The residues at which a reduction could be off by one."""
    return sorted({0, 1 % q, q // 2, min(q // 2 + 1, q - 1), q - 1})


def operations(moduli):
    """q, a, b: a + b, a - b and a*b modulo q."""
    return [
        [q, a, b, (a + b) % q, (a - b) % q, a * b % q]
        for q in moduli
        for a, b in product(ends(q), repeat=2)
    ]


def lazy_product(q, w, v):
    """The product of Shoup's method, in [0, 2q)."""
    return v * w - (v * (w * (1 << 32) // q) >> 32) * q


def signed_product(q, w, v):
    """v*w modulo q in (-q, q), by the exact quotient of Montgomery's method with R = 2^52."""
    r = 1 << 52
    value = w * r % q
    m = v * value * pow(q, -1, r) % r
    exact, rest = divmod(v * value - m * q, r)
    assert rest == 0 and -q < exact < q and (exact - v * w) % q == 0
    return exact


def centred(x, q):
    return x - q if x > q // 2 else x


def balanced(x, base, drop, levels):
    """The digits of a centred integer, from the definition: round, then take balanced digits."""
    rest = (x + (1 << drop) // 2) >> drop
    found = []
    for _ in range(levels - 1):
        digit = (rest + (1 << base) // 2) % (1 << base) - (1 << base) // 2
        found.append(digit)
        rest = (rest - digit) >> base
    return [*found, rest]


def gadget_rows():
    """q1, q2, base, drop, x modulo q1 and q2: three digits."""
    primes = [(268_369_921, 249_561_089), (65_537, 12_289), (257, 193)]
    rows = []
    for (q1, q2), shape in zip(primes, [(19, 0), (10, 2), (6, 0)]):
        q = q1 * q2
        numbers = [0, 1, q // 2, q // 2 + 1, q - 1, q1, q2, q - q1, q // 3, 2 * q // 3]
        for x in numbers:
            rows.append([q1, q2, *shape, x % q1, x % q2, *balanced(centred(x, q), *shape, 3)])
    return rows


def packed(values, width):
    """The bytes of packed values, padded to three words."""
    stream = sum((value % (1 << width)) << (width * place) for place, value in enumerate(values))
    return [stream >> (64 * place) & ((1 << 64) - 1) for place in range(3)]


def rounded(a, b):
    """a/b, rounded to the nearest integer, ties up."""
    return (2 * a + b) // (2 * b)


def path(index, size):
    """The siblings of a leaf in RFC 6962, section 2.1.1: their number, and a bit for each from the
    lowest on, which is set for a left sibling."""
    sides = []
    while size > 1:
        split = 1 << ((size - 1).bit_length() - 1)
        sides.append(int(index >= split))
        index, size = (index - split, size - split) if index >= split else (index, split)
    sides.reverse()
    return [len(sides), sum(side << place for place, side in enumerate(sides))]


def leb128(number):
    found = []
    while number >= 0x80:
        found.append(number % 0x80 + 0x80)
        number //= 0x80
    return [*found, number]


def kernels():
    small = [(3, 2), (257, 17), (268_369_921, 65_521), ((1 << 28) - 57, 40_961), ((1 << 32) - 1, 2)]
    ones = (1 << 64) - 1
    values = [(0, 0, 0), (ones, ones, ones), (1, 0, ones), (0x0123456789ABCDEF, 1 << 63, 1)]
    return {
        "modulus": operations(MODULI),
        "modulus.reduce": [
            [q, x, x % q] for q in MODULI for x in (*LONGS, q, 2 * q - 1, q << 32, (q << 32) - 1)
        ],
        "factor": [
            [q, w, v, lazy_product(q, w, v)] for q in MODULI for w in ends(q) for v in (*WORDS, q)
        ],
        "wide.modulus": operations(WIDE_MODULI),
        "wide.modulus.reduce": [
            [q, x, x % q] for q in WIDE_MODULI for x in (*LONGS, q, 2 * q - 1, q << 10)
        ],
        "wide.modulus.reduce_sum": [
            [q, upper, lower, ((upper << 52) + lower) % q]
            for q in WIDE_MODULI
            for upper in LONGS
            for lower in (0, 1, (1 << 52) - 1)
        ],
        "wide.factor": [
            [q, w, v, signed_product(q, w, v)]
            for q in WIDE_MODULI
            for w in ends(q)
            for v in (0, 1, q - 1, 2 * q, (1 << 52) - 1)
        ],
        "small_prime.shortest": [
            [q, p, x, centred(x, q) % p] for q, p in small for x in ends(q)
        ],
        # Residues of signed words, by both kernels where q is below 2^30.
        "signed": [
            [q, word, word % q]
            for q in (*WIDE_MODULI, (1 << 31) + 1)
            for word in (-(1 << 31), -(1 << 31) + 1, -1, 0, 1, (1 << 31) - 1)
        ],
        "gadget.centre": [[q, x, centred(x, q)] for q in MODULI for x in ends(q)],
        # -1/x modulo 2^64.
        "bigint.negated_inverse": [
            [x, -pow(x, -1, 1 << 64) % (1 << 64)]
            for x in (1, 3, 5, 7, (1 << 32) - 1, (1 << 32) + 1, (1 << 63) + 1, (1 << 64) - 1)
        ],
        "gadget": gadget_rows(),
        "bits": [
            [width, *row, *packed(row, width)]
            for width in (1, 2, 7, 8, 9, 21, 22, 31, 32, 33, 42, 43, 57, 63, 64)
            for row in values
        ],
    }


def lattice():
    moduli = (17, 257, (1 << 20) + 7, 268_369_921 * 249_561_089, (1 << 61) - 1, (1 << 62) - 1)
    return {
        "power_switch.down": [
            [q, bits, x, rounded(x << bits, q) % (1 << bits)]
            for q in moduli
            for bits in sorted({1, 2, q.bit_length() // 2, q.bit_length() - 1})
            for x in ends(q)
        ],
        "power_switch.up": [
            [q, bits, y, rounded(y * q, 1 << bits)]
            for q in moduli
            for bits in sorted({1, 2, q.bit_length() // 2, q.bit_length() - 1})
            for y in ends(1 << bits)
        ],
        "switch": [
            [x, before, to, (x * to + before // 2) // before % to]
            for before, to in product(moduli, repeat=2)
            for x in ends(before)
        ],
        "words.decode": [
            [word, log2, *nearest(word, log2)] for word in WORDS for log2 in (1, 2, 16, 30, 31)
        ],
        "words.round": [
            [word, bits, ((word + (1 << bits) // 2) % (1 << 32)) >> bits]
            for word in WORDS
            for bits in (0, 1, 2, 16, 31)
        ],
    }


def nearest(word, log2):
    """The nearest multiple of 2^log2 modulo 2^32, ties up: its factor and the distance."""
    factor = (word + (1 << log2) // 2) >> log2
    return [factor % (1 << (32 - log2)), abs((factor << log2) - word)]


def core():
    shapes = [(1000, 16), (1000, 64), (7, 1), (1, 1)]
    return {
        "records.extract_bits": [
            [source, start, bits, (source >> start) % (1 << bits)]
            for source in (0, (1 << 64) - 1, 0x0123456789ABCDEF, 0xAAAAAAAAAAAAAAAA)
            for start in (0, 1, 7, 8, 13, 63)
            for bits in (1, 7, 8, 9, 33, 64)
        ],
        # Words, words of a slice, shards, i: the slices and words of shard i.
        "division": [
            [words, each, shards, i, *shard(words, each, shards, i)]
            for words, each in shapes
            for shards in sorted({1, min(3, -(-words // each)), -(-words // each)})
            for i in sorted({0, shards // 2, shards - 1})
        ],
        # Bytes, bytes read before, bytes asked for: whether there are as many.
        "reader.raw": [
            [length, position, count, int(position + count <= length)]
            for length in (0, 1, 9)
            for position in sorted({0, length})
            for count in (0, 1, 9, 10, (1 << 64) - 1, (1 << 64) - 9)
        ],
        # The length in a header: that of the envelope, or 0 if it has none.
        "envelope.first_length": [
            [stated, stated + 32 if stated + 32 < 1 << 64 else 0]
            for stated in (0, 1, 1 << 32, (1 << 64) - 33, (1 << 64) - 32, (1 << 64) - 1)
        ],
    }


def shard(words, each, shards, i):
    slices = -(-words // each)
    start, end = i * slices // shards, (i + 1) * slices // shards
    return [start, end, min(words, start * each), min(words, end * each)]


def checkpoint():
    sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100, (1 << 32) + 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1]
    return {
        "inclusion": [
            [index, size, *path(index, size)]
            for size in sizes
            for index in sorted({0, 1, size // 2, size - 2, size - 1})
            if 0 <= index < size
        ],
    }


def lookup():
    return {
        "grid.scale": [
            [word, count, word * count >> 64] for word in LONGS for count in (1, 2, 3, 0xFFFFFFFF)
        ],
        "tree.depth": [
            [records, (records - 1).bit_length()]
            for records in (1, 2, 3, 4, 5, 8, 9, (1 << 40) - 1, 1 << 40, (1 << 63) + 1)
        ],
        # A number, the number of its bytes, and these as one little-endian number.
        "varint": [
            [number, len(leb128(number)), int.from_bytes(bytes(leb128(number)), "little")]
            for number in (0, 127, 128, 16_383, 16_384, *LONGS)
        ],
        "bucket.tag": [
            [size, tag, max(tag % (1 << (8 * size)), 1)]
            for size in (4, 5, 6, 7, 8)
            for tag in (0, 1, 1 << 32, 0xFFFFFFFF, (1 << 56) - 1, 1 << 56, (1 << 64) - 1)
        ],
        "filter.bits": [
            [count, (count - 1).bit_length() + 60 if count else 60]
            for count in (0, 1, 2, 3, 1 << 20, (1 << 20) + 1, (1 << 64) - 1)
        ],
    }


FILES = {
    "kernels": kernels,
    "lattice": lattice,
    "core": core,
    "checkpoint": checkpoint,
    "lookup": lookup,
}


def text(tables):
    """JSON with one row on a line, which a test in Rust reads by lines."""
    parts = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in tables.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)

    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, tables in FILES.items():
        path = FOLDER / f"{name}.json"
        expected = text(tables())
        if not check:
            path.write_text(expected)
        elif not path.exists() or path.read_text() != expected:
            sys.exit(f"{path} is not what reference/smt/vectors.py writes: run it without --check")
    print(f"{len(FILES)} files of vectors " + ("are up to date" if check else "written"))


if __name__ == "__main__":
    main()
