"""Verification of Ed25519 signatures in plain Python (RFC 8032, section 5.1.7).

Not constant-time, so it must not see secrets.
"""
import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ZERO = 0, 1, 1, 0  # points are (X, Y, Z, T) with x = X/Z, y = Y/Z, x·y = T/Z


def _add(a, b):
    """The sum of two points."""
    p, q = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    r, s = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = q - p, s - r, s + r, q + p
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar, point):
    """A multiple of a point."""
    total = ZERO
    for bit in bin(scalar)[2:]:
        total = _add(total, total)
        if bit == "1":
            total = _add(total, point)
    return total


def _decode(encoded):
    """The point of 32 bytes, or None."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y % 2**255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x % 2 != sign else x
    return x, y, 1, x * y % P


def _encode(point):
    """The 32 bytes of a point."""
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = _decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verify(public, message, signature):
    """Whether a signature (64) of the message verifies under a public key (32)."""
    point = _decode(public) if (len(public), len(signature)) == (32, 64) else None
    s = int.from_bytes(signature[32:], "little")
    if point is None or s >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    minus = P - point[0], point[1], 1, P - point[3]
    return _encode(_add(_times(s, BASE), _times(k, minus))) == signature[:32]


if __name__ == "__main__":  # RFC 8032, section 7.1, test 2
    key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    made = bytes.fromhex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                         "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
    assert verify(key, b"\x72", made) and not verify(key, b"\x73", made)
