"""The scheme `inspire`: queries and answers, §inspire payloads of docs/formats.md.

Polynomials are lists of coefficients, lowest first, modulo X^d + 1.
"""
import math
import struct
from dataclasses import dataclass

from wire import Reader, check, cut_record, expand, gaussian

NUMBER = 2  # §Message envelope: the scheme's number
# The client's own security table, since a server could choose a small d or a sigma of 0. The page's second row
# (q < 2^53) is within this one.
D, SIGMA, MOST_LOG_Q = 2048, 6.4, 55.895
P = 65537  # plaintexts are modulo p, their words below 2^16
noise = gaussian(SIGMA)


# Polynomials

def multiply(a, b):
    """The product of polynomials with integer coefficients modulo X^d + 1, not reduced modulo a number.

    Polynomials become numbers by setting X = 2^w, with w so large that the coefficients stay apart.
    """
    size = (max(map(abs, a)).bit_length() + max(map(abs, b)).bit_length() + D.bit_length()) // 8 + 1  # bytes of w
    half = 1 << 8 * size - 1  # added to each coefficient, so that none is negative
    halves = int.from_bytes(half.to_bytes(size, "little") * D, "little")

    def number(x):
        return int.from_bytes(b"".join((c + half).to_bytes(size, "little") for c in x), "little") - halves

    product, end = number(a) * number(b), 8 * size * D  # X^d = 2^end = -1
    folded = ((product & (1 << end) - 1) - (product >> end) + halves) % ((1 << end) + 1)
    encoded = folded.to_bytes(size * D, "little")
    return [int.from_bytes(encoded[i:i + size], "little") - half for i in range(0, len(encoded), size)]


def times_power(a, exponent):
    """a·X^exponent, 0 <= exponent < 2d."""
    both = a + [-x for x in a]
    return [both[(k - exponent) % (2 * D)] for k in range(D)]


def tau(k, a):
    """The polynomial with X^k in place of X, for odd k."""
    out = [0] * D
    for i, x in enumerate(a):
        place = i * k % (2 * D)
        out[place % D] = x if place < D else -x
    return out


# Ring elements

class Prime:
    """A prime factor of q, and its number-theoretic transform, §Ring elements."""

    def __init__(self, value):
        check(2 * D < value < 2**28 and value % (2 * D) == 1 and is_prime(value), "a modulus without a transform")
        self.value = value
        roots = (pow(b, (value - 1) // (2 * D), value) for b in range(2, value))
        root = next(x for x in roots if pow(x, D, value) == value - 1)
        powers = [pow(root, -i, value) for i in range(D)]
        self.inverse_roots = [powers[reverse(k, D)] for k in range(D)]  # of node k in the tree of factors of X^d + 1

    def coefficients(self, values):
        """The polynomial that has value k at X = root^(2·r(k) + 1): pairs of factors are joined, level by level."""
        a, p, length = values, self.value, 1
        while length < D:
            joined = []
            for start in range(0, D, 2 * length):
                inverse = self.inverse_roots[(D + start) // (2 * length)]
                low, high = a[start:start + length], a[start + length:start + 2 * length]
                joined += [(x + y) % p for x, y in zip(low, high)]
                joined += [(x - y) * inverse % p for x, y in zip(low, high)]
            a, length = joined, 2 * length
        scale = pow(D, -1, p)
        return [x * scale % p for x in a]


def reverse(k, count):
    """The reversal of log2(count) bits."""
    return int(f"{k:0{count.bit_length() - 1}b}"[::-1], 2)


def is_prime(n):
    """Whether n < 2^31 is a prime, by Miller and Rabin; these bases suffice up to 2^32."""
    odd = (n - 1) // (n - 1 & 1 - n)
    for base in (2, 7, 61):
        x, exponent = pow(base, odd, n), odd
        while x not in (1, n - 1) and exponent < n // 2:
            x, exponent = x * x % n, 2 * exponent
        if x != n - 1 and (x != 1 or exponent != odd):
            return False
    return n % 2 == 1


def uniform(words, modulus):
    """The next d uniform residues of a stream, §Expansion of seeds."""
    bits, out = (modulus - 1).bit_length(), []
    while len(out) < D:
        word = next(words) % 2**bits
        if word < modulus:
            out.append(word)
    return out


def stream_words(seed, label, index):
    """The words of 4 bytes of a stream, without end."""
    start, part = 0, 8 * D
    while True:
        yield from struct.unpack(f"<{part // 4}I", expand(seed, label, index, part, start))
        start += part


# §Packed coefficients

def pack(values, bits):
    """Values of `bits` bits without gaps: eight of them fill `bits` bytes."""
    out = b"".join(sum(x << bits * k for k, x in enumerate(values[i:i + 8])).to_bytes(bits, "little")
                   for i in range(0, len(values), 8))
    return out[:-(-len(values) * bits // 8)]


def unpack(data, bits):
    """d values of `bits` bits."""
    groups = (int.from_bytes(data[i:i + bits], "little") for i in range(0, len(data), bits))
    return [group >> bits * k & (1 << bits) - 1 for group in groups for k in range(8)]


# The scheme

@dataclass
class Gadget:
    """The numbers 2^(dropped + j·log2 base) for each digit j below `levels`."""
    levels: int
    log_base: int
    dropped: int

    def powers(self):
        """The gadget's numbers."""
        return [1 << self.dropped + j * self.log_base for j in range(self.levels)]


class Inspire:
    """What a client knows of a database."""
    number = NUMBER

    def __init__(self, parameters, public):
        """From the parameters (bytes) and a Reader of the scheme's own public bytes."""
        r = Reader(parameters)
        self.records, self.record_bits, d, q1, q2 = (r.number(size) for size in (8, 8, 4, 4, 4))
        sigma, self.points = struct.unpack("<d", r.take(8))[0], r.number(4)
        self.packing, self.rgsw = (Gadget(*r.take(3)) for _ in range(2))
        self.query_bits, self.g_bits, self.h_bits, self.rgsw_bits, mask_bits, self.body_bits = r.take(6)
        check(mask_bits >= 128, "parameters without a reserve")
        self.mask_bits = mask_bits % 128
        variables = (len(parameters) - r.at) // 4  # one byte more may state a bound on failures
        check(variables in (0, 2, 3, 4) and (len(parameters) - r.at) % 4 < 2, "parameters of another length")
        self.variables = [r.number(4) for _ in range(variables)] or [self.points]
        check((d, sigma) == (D, SIGMA) and math.log2(max(1, q1 * q2)) < MOST_LOG_Q, "insecure parameters")
        check(0 < self.records and 0 < self.record_bits and 0 < self.points == math.prod(self.variables)
              and max(self.variables) <= 2 * D, "parameters without records or points")
        widths = self.query_bits, self.g_bits, self.h_bits, self.rgsw_bits, self.mask_bits, self.body_bits
        check(q1 != q2 and 0 < min(widths) and max(widths) <= 64 and self.body_bits <= self.mask_bits,
              "impossible moduli or widths")
        self.primes, self.q = (Prime(q1), Prime(q2)), q1 * q2
        # Units: a record has `chunks` ring elements of 2d bytes.
        self.chunks = -(-self.record_bits // (16 * D))
        self.unit_bytes = 2 * D * self.chunks
        without_gaps = self.unit_bytes // self.record_bits * 8
        padded = self.unit_bytes // -(-self.record_bits // 8)
        self.records_of_unit = max(without_gaps, padded)
        self.slot_bits = self.record_bits if without_gaps > padded else -(-self.record_bits // 8) * 8
        self.columns = -(-self.records // (self.records_of_unit * self.points))  # N/t
        self.seed, self.masks = public.take(32), {}

    def mask(self, label, index):
        """A ring element of a stream: its coefficients modulo q, §Ring elements. They are kept for later queries."""
        if (label, index) not in self.masks:
            words, (first, second) = stream_words(self.seed, label, index), self.primes
            one, two = (prime.coefficients(uniform(words, prime.value)) for prime in self.primes)
            inverse = pow(first.value, -1, second.value)
            self.masks[label, index] = [x + first.value * ((y - x) * inverse % second.value) for x, y in zip(one, two)]
        return self.masks[label, index]

    def body(self, label, index, secret, message):
        """The body of an encryption of the message under a mask: -a·s + e + m modulo q."""
        product = multiply(self.mask(label, index), secret)
        return [(noise() + m - x) % self.q for m, x in zip(message, product)]

    def rounded(self, values, bits):
        """Values modulo q, rounded to `bits` bits and packed."""
        return pack([((x << bits + 1) + self.q) // (2 * self.q) % 2**bits for x in values], bits)

    def place(self, index):
        """Column, point, unit and slot of a record."""
        unit, slot = divmod(index, self.records_of_unit)
        return *divmod(unit, self.points), unit, slot

    def query(self, index):
        """The payload of a query for a record, and its secret."""
        column, point, _, _ = self.place(index)
        secret = [noise() for _ in range(D)]
        delta, selector = (self.q + 32768) // P, []
        for block in range(-(-self.columns // D)):
            message = [delta if block * D + c == column else 0 for c in range(D)]
            selector += self.body("inspire/selector", block, secret, message)
        payload = self.rounded(selector[:self.columns], self.query_bits)
        for label, k, bits in (("inspiring/w_g", 5, self.g_bits), ("inspiring/w_h", 2 * D - 1, self.h_bits)):
            for digit, power in enumerate(self.packing.powers()):
                message = [power * x for x in tau(k, secret)]
                payload += self.rounded(self.body(label, digit, secret, message), bits)
        for number, points in enumerate(self.variables if self.points > 1 else []):
            label = f"inspire/rgsw/{number}" if number else "inspire/rgsw"
            point, part = divmod(point, points)
            twos = points & -points  # points = r·twos with r odd
            exponent = part // twos + part % twos * (2 * D // twos)
            messages = [[power * x for x in times_power(polynomial, exponent)]
                        for polynomial in (secret, [1] + [0] * (D - 1)) for power in self.rgsw.powers()]
            for row, message in enumerate(messages):
                payload += self.rounded(self.body(label, row, secret, message), self.rgsw_bits)
        return payload, secret

    def record(self, payload, secret, index):
        """The record from the payload of its answer."""
        _, _, unit, slot = self.place(index)
        mask_bytes, body_bytes = D * self.mask_bits // 8, D * self.body_bits // 8
        check(len(payload) == self.chunks * (mask_bytes + body_bytes), "an answer of a wrong length")
        r, content = Reader(payload), b""
        masks = [unpack(r.take(mask_bytes), self.mask_bits) for _ in range(self.chunks)]
        for chunk, mask in enumerate(masks):
            body = unpack(r.take(body_bytes), self.body_bits)
            white = expand(self.seed, "inspire/whitening", chunk, 2 * D, 2 * D * unit)
            words = b"".join(x.to_bytes(2, "little") for x in self.open_words(mask, body, secret))
            content += bytes(x ^ y for x, y in zip(words, white))
        return cut_record(content, slot, self.slot_bits)[:-(-self.record_bits // 8)]

    def open_words(self, mask, body, secret):
        """The words that an answer encrypts."""
        scale, words = 1 << self.mask_bits, []
        for b, product in zip(body, multiply(mask, secret)):
            phase = ((b << self.mask_bits - self.body_bits) + product) % scale
            word = (2 * phase * P + scale) // (2 * scale)
            check(word != 65536, "an answer with a word of 65536")
            near = 64 * abs(phase * P - word * scale) <= 31 * scale
            check(near, "an answer that does not decode")
            words.append(word % P)
        return words
