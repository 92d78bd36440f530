"""AES-128 in counter mode, in plain Python (FIPS 197, SP 800-38A): only to expand public seeds.

Not constant-time, so it must not see secrets.
"""


def _double(x):
    """x times 2 in the field of AES."""
    return (x << 1) ^ (0x11B if x & 0x80 else 0)


def _sbox():
    """The S-box: inverses in the field, which 3 and its inverse 0xF6 enumerate, and an affine map."""
    box, p, q = [0x63] * 256, 1, 1
    for _ in range(255):
        p = p ^ _double(p)  # p times 3
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q = (q & 0xFF) ^ (0x09 if q & 0x80 else 0)  # q divided by 3
        box[p] = 0x63 ^ q
        for i in range(1, 5):
            box[p] ^= (q << i | q >> 8 - i) & 0xFF
    return box


SBOX = _sbox()
DOUBLE = [_double(x) for x in range(256)]
SHIFT_ROWS = [(i + 4 * (i % 4)) % 16 for i in range(16)]


def round_keys(key):
    """The 11 round keys of a key of 16 bytes."""
    words, constant = [list(key[i:i + 4]) for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _double(constant)
        words.append([a ^ b for a, b in zip(words[-4], word)])
    return [sum(words[i:i + 4], []) for i in range(0, 44, 4)]


def encrypt_block(keys, block):
    """One block of 16 bytes under the round keys."""
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [SBOX[state[i]] for i in SHIFT_ROWS]
        if number < 10:
            mixed = []
            for i in range(0, 16, 4):
                c, total = state[i:i + 4], state[i] ^ state[i + 1] ^ state[i + 2] ^ state[i + 3]
                mixed += [c[j] ^ total ^ DOUBLE[c[j] ^ c[(j + 1) % 4]] for j in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def counter_stream(key, counter, length):
    """`length` bytes: the encryptions of the counter block (16, big-endian) and the ones after it."""
    keys, start = round_keys(key), int.from_bytes(counter, "big")
    blocks = (encrypt_block(keys, ((start + i) % 2**128).to_bytes(16, "big")) for i in range(-(-length // 16)))
    return b"".join(blocks)[:length]


if __name__ == "__main__":  # FIPS 197, appendix B
    block = encrypt_block(round_keys(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")),
                          bytes.fromhex("3243f6a8885a308d313198a2e0370734"))
    assert block.hex() == "3925841d02dc09fbdc118597196a0b32"
