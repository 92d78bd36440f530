"""BLAKE3 in plain Python: hash, keyed hash and key derivation, with output of any length.

Written from the BLAKE3 paper (section 2), which formats.md names but does not repeat.
"""
import struct

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
# The words that each of the 7 rounds mixes into the 4 columns and the 4 diagonals.
QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED, CONTEXT, MATERIAL = (1 << i for i in range(7))
M = 0xFFFFFFFF


def _schedule():
    """The message words of every quarter round, in order: (a, b, c, d, first word, second word)."""
    order, steps = list(range(16)), []
    for _ in range(7):
        steps += [quarter + (order[2 * i], order[2 * i + 1]) for i, quarter in enumerate(QUARTERS)]
        order = [order[p] for p in PERMUTATION]
    return steps


SCHEDULE = _schedule()


def _compress(chaining, block, counter, length, flags):
    """The 16 words of one compression; the first 8 are the new chaining value."""
    v = [*chaining, *IV[:4], counter & M, counter >> 32, length, flags]
    for a, b, c, d, x, y in SCHEDULE:
        va, vb, vc, vd = v[a], v[b], v[c], v[d]
        va = (va + vb + block[x]) & M
        vd ^= va
        vd = (vd >> 16 | vd << 16) & M
        vc = (vc + vd) & M
        vb ^= vc
        vb = (vb >> 12 | vb << 20) & M
        va = (va + vb + block[y]) & M
        vd ^= va
        vd = (vd >> 8 | vd << 24) & M
        vc = (vc + vd) & M
        vb ^= vc
        v[a], v[b], v[c], v[d] = va, (vb >> 7 | vb << 25) & M, vc, vd
    return [x ^ y for x, y in zip(v[:8], v[8:])] + [x ^ y for x, y in zip(v[8:], chaining)]


def _chunk(data, key, number, flags):
    """The last, unfinished compression of a chunk of at most 1024 bytes."""
    chaining, count = key, max(1, -(-len(data) // 64))
    for i in range(count):
        block = data[64 * i:64 * i + 64]
        words = struct.unpack("<16I", bytes(block).ljust(64, b"\0"))
        mode = flags | (CHUNK_START if i == 0 else 0) | (CHUNK_END if i == count - 1 else 0)
        node = chaining, words, number, len(block), mode
        if i < count - 1:
            chaining = _compress(*node)[:8]
    return node


def _tree(data, key, first, flags):
    """The last, unfinished compression of the hash tree over `data`."""
    if len(data) <= 1024:
        return _chunk(data, key, first, flags)
    left = 1 << ((len(data) - 1) // 1024).bit_length() - 1
    split = 1024 * left  # the largest power of two of chunks that leaves the right side something
    words = (_compress(*_tree(data[:split], key, first, flags))[:8]
             + _compress(*_tree(data[split:], key, first + left, flags))[:8])
    return key, words, 0, 64, flags | PARENT


def _output(data, key, flags, length):
    """`length` bytes of the root's output."""
    chaining, words, _, size, mode = _tree(memoryview(data), key, 0, flags)
    blocks = (_compress(chaining, words, i, size, mode | ROOT) for i in range(-(-length // 64)))
    return b"".join(struct.pack("<16I", *block) for block in blocks)[:length]


def blake3(data, length=32):
    """The plain hash."""
    return _output(data, IV, 0, length)


def keyed(key, data, length=32):
    """The keyed hash; the key has 32 bytes."""
    return _output(data, struct.unpack("<8I", key), KEYED, length)


def derive(context, data, length=32):
    """The hash in key derivation mode."""
    key = struct.unpack("<8I", _output(context.encode(), IV, CONTEXT, 32))
    return _output(data, key, MATERIAL, length)


if __name__ == "__main__":
    assert blake3(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
