#!/usr/bin/env python3
"""Checks a certificate of a failure bound: `certificate.py FILE...`, or `-` for standard input.

papir inspect FILE --certificate OUT.json writes such files. This program shares no code with papir.
It computes every term again from the parameters, with its own formulas and exact fractions, and
bounds exp, ln and square roots from the safe side. It accepts a certificate only if all terms agree,
the bound follows from them, and a row of the table below gives 128 bits. Everything unknown is refused.
"""

import json
import math
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

UP = Context(prec=60, rounding=ROUND_CEILING, Emin=-9999, Emax=9999)
DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=-9999, Emax=9999)
# Floats may differ from exact values by this share, and a log2 of a probability by this much.
FLOAT = Fraction(1, 10**12)
LOG2 = Fraction(1, 10**9)
# Moments of the sampler exceed those of a Gaussian by this share (docs/decisions/0027).
EXCESS = Fraction(1, 2**25)

# (row, n, log2 q, secret, sigma, bits): lattice estimator at commit 27a581bb, cost model MATZOV, the
# number of samples optimised for each attack (docs/security.md, Parameters). Only rows in use.
TABLE = [
    ("InsPIRe / YPIR ring", 2048, "55.895", "error-like", "6.4", "131.5"),
    ("InsPIRe⁽²⁾ ring", 2048, "53", "error-like", "6.4", "139.8"),
    ("DoublePIR / YPIR LWE, wider noise", 1024, "32", "error-like", "11", "128.4"),
    ("ZipPIR LWE, in use", 1280, "32", "binary", "6.4", "131.3"),
    ("ring, ternary", 2048, "53", "ternary", "3.19", "128.7"),
    ("ring, ternary, with a margin", 2048, "53", "ternary", "4", "129.6"),
]


class Refused(Exception):
    """The certificate is wrong, or not of a kind that this program knows."""


def need(condition, what):
    if not condition:
        raise Refused(what)


def up(x):
    return UP.divide(Decimal(x.numerator), Decimal(x.denominator))


def down(x):
    return DOWN.divide(Decimal(x.numerator), Decimal(x.denominator))


# Decimal rounds these functions to the nearest number: the next one is a bound.
def ln(x):
    """An upper bound."""
    return Fraction(UP.next_plus(UP.ln(up(Fraction(x)))))


def ln_below(x):
    return Fraction(DOWN.next_minus(DOWN.ln(down(Fraction(x)))))


def sqrt(x):
    """An upper bound."""
    return Fraction(UP.next_plus(UP.sqrt(up(Fraction(x)))))


def sqrt_below(x):
    return max(Fraction(0), Fraction(DOWN.next_minus(DOWN.sqrt(down(Fraction(x))))))


LN2, LN2_BELOW = ln(2), ln_below(2)


def log2(x):
    """An upper bound for x of at least 1."""
    return ln(x) / LN2_BELOW


def log2_sum(logs):
    """An upper bound on log2 of a sum of powers of two."""
    most = max(logs)
    powers = [Fraction(UP.next_plus(UP.exp(up((x - most) * LN2_BELOW)))) for x in logs]
    return most + log2(sum(powers))


def tail(threshold, variance, coefficients, terms=None):
    """An upper bound on log2 of the probability that one of the errors exceeds the threshold.

    2 exp(-t²/2V) for sub-Gaussian errors; Chernoff's bound for sums of `terms` products of two
    sub-Gaussian factors, (1 - x²)^(-terms/2) exp(-...) at any x, which is a bound for every x.
    """
    if threshold <= 0:
        return Fraction(0)
    square = threshold * threshold / (variance * (1 + EXCESS))
    nats = square / 2
    if terms is not None:
        c = math.sqrt(square / terms)
        y = Fraction(2 * c / (1 + math.sqrt(1 + 4 * c * c)))
        nats = terms * (y * sqrt_below(square / terms) + ln_below(1 - y * y) / 2)
    return min(Fraction(0), 1 + log2(coefficients) - nats / LN2)


def number(text):
    need(isinstance(text, str) and len(text) < 20_000, f"{text!r} is not a number as text")
    numerator, slash, denominator = text.partition("/")
    parts = [numerator, denominator] if slash else [numerator]
    need(all(part.isascii() and part.isdigit() for part in parts), f"{text!r} is not p or p/q")
    need(not slash or int(denominator) > 0, f"{text!r} divides by zero")
    return Fraction(int(numerator), int(denominator) if slash else 1)


class Certificate:
    """Hands out parameters, terms and sets in the order in which a scheme's rules name them."""

    def __init__(self, data):
        fields = {"papir_certificate", "scheme", "asked_bits", "parameters", "terms", "security"}
        need(isinstance(data, dict) and fields <= data.keys(), "not a certificate: fields missing")
        need(data["papir_certificate"] == "1", f"format {data['papir_certificate']!r}: expected 1")
        extra = data.keys() - fields - {"failure_bits", "never_fails", "below"}
        need(not extra, f"unknown fields {sorted(extra)}")
        self.data, self.scheme = data, data["scheme"]
        self.asked = number(data["asked_bits"])
        need(40 <= self.asked <= 128, f"a bound of 2^-{self.asked} was asked for: 40 to 128")
        self.default = self.asked == 40
        self.parameters = {name: number(text) for name, text in data["parameters"].items()}
        self.terms, self.sets, self.used = list(data["terms"]), list(data["security"]), set()

    def __getitem__(self, name):
        need(name in self.parameters, f"no parameter {name!r}")
        self.used.add(name)
        return self.parameters[name]

    def whole(self, *names):
        values = [self[name] for name in names]
        need(all(v.denominator == 1 and v < 2**64 for v in values), f"{names}: not whole numbers")
        return [int(value) for value in values]

    def claimed(self, name, kind):
        need(self.terms, f"no term {name!r}")
        term = self.terms.pop(0)
        need(term.keys() == {"name", "kind", "source", "value"}, f"fields of the term {name!r}")
        found = (term["name"], term["kind"])
        need(found == (name, kind), f"term {found}: expected {(name, kind)}")
        need(isinstance(term["source"], str) and term["source"], f"{name!r} has no source")
        return number(term["value"])

    def term(self, name, kind, value, tolerance=Fraction(0)):
        """The claimed value of the next term, which must be this one up to a relative tolerance."""
        claimed, value = self.claimed(name, kind), Fraction(value)
        near = abs(claimed - value) <= value * tolerance
        need(near, f"{name!r} is {claimed}: computed {float(value):.17g}")
        return claimed

    def variance(self, name, value):
        return self.term(name, "variance", value)

    def accepted(self, name, at, allowed, slack=0):
        """The bound at the accepted distance, which must be the least one that keeps `allowed`."""
        distance = self.claimed(name, "accepted")
        need(distance.denominator == 1, f"{name!r} is not whole")
        found = at(distance - slack)
        need(found <= -allowed + LOG2, f"2^{float(found):.3f} at {name!r}, above 2^-{allowed}")
        need(at(distance - slack - 1) >= -allowed - LOG2, f"{name!r} is too large")
        return int(distance), found

    def allowed(self, name, default):
        return self.term(name, "bits", default + self.asked - 40)

    def words(self, parts):
        """Below 2^-40, adds the probability that words exceed the bound on their squares."""
        if not self.default:
            parts.append(-self.term("words", "bits", self.asked + 30))

    def secure(self, n, q, secret, sigma):
        need(self.sets, "no security for an encryption")
        claim = self.sets.pop(0)
        fields = {"n": n, "q": q, "sigma": sigma}
        need(claim.keys() == fields.keys() | {"secret", "bits", "row"}, "fields of security")
        found = {name: number(claim[name]) for name in fields}
        need(found == fields and claim["secret"] == secret, f"security of {claim}: other parameters")
        rows = [row for row in TABLE if row[0] == claim["row"]]
        need(len(rows) == 1, f"unknown row of estimates {claim['row']!r}")
        _, least_n, most_q, of_secret, least_sigma, bits = rows[0]
        # Exact: q <= 2^b for b with three decimals.
        small = q.denominator == 1 and q**1000 <= 2 ** int(Fraction(most_q) * 1000)
        covered = n >= least_n and small and secret == of_secret and sigma >= Fraction(least_sigma)
        need(covered, f"the row {claim['row']!r} does not cover {claim}")
        need(number(claim["bits"]) == Fraction(bits) >= 128, f"{claim['bits']} bits: {bits} estimated")


class Ring:
    """A ring, the noise of its gadgets and of rounding, in units of q."""

    def __init__(self, c, secret):
        (self.d,), self.q, self.sigma = c.whole("degree"), c["q"], c["sigma"]
        self.c, self.secret = c, secret
        self.square = Fraction(2, 3) if secret == "ternary" else self.sigma**2
        c.secure(self.d, self.q, secret, self.sigma)

    def rounded(self, bits):
        return (self.q / 2**bits) ** 2 / 12

    def gadget(self, name):
        levels, log, drop = self.c.whole(f"{name} levels", f"{name} log2 base", f"{name} dropped bits")
        need(max(levels, log, drop) <= 64 and min(levels, log) > 0, f"the gadget {name!r}")
        reach = 2**log * (2 ** (log * levels) - 1) // (2**log - 1)
        need(self.q <= 2**drop * (reach + 2), f"the digits of {name!r} do not reach q")
        digit = self.c.variance(f"{name} digit", Fraction(4**log + 2, 12))
        return levels * digit * self.d, self.c.variance(f"{name} dropped", Fraction(4**drop, 12))

    def key(self, name, gadget, product=False):
        (bits,) = self.c.whole(f"{name} bits")
        need(bits <= 64, f"{name!r} has {bits} bits")
        error = self.c.variance(f"error of {name}", self.sigma**2 + self.rounded(bits))
        digits, dropped = gadget
        if product:
            value = 2 * digits * error + self.d * self.square * dropped + dropped
            return self.c.variance(f"product with {name}", value)
        return self.c.variance(f"switch under {name}", digits * error + self.d * self.square * dropped)


def uniform_squares(c, count, largest, rows):
    """The bound on squares of uniform words: ten deviations, or Bernstein's inequality."""
    square = Fraction(largest) ** 2
    mean, variance = square / 3 + Fraction(1, 6), square * (4 * square / 45 + Fraction(2, 9))
    more = 10 * sqrt(variance * count)
    if not c.default:
        nats = ln(rows) + (c.asked + 30) * LN2
        more = sqrt(2 * variance * count * nats) + (square - mean) / 3 * nats
    return min(mean * count + more, count * square)


def inspire(c):
    ring = Ring(c, "error-like")
    t, chunks, columns, p = c.whole("points", "chunks", "columns", "plaintext")
    query, mask, body, reserved = c.whole("query bits", "mask bits", "body bits", "reserved")
    need(p == 65537 and reserved <= 1 and max(query, mask, body) <= 64 and t > 0, "parameters")
    rows = ring.d * chunks
    gadget = ring.gadget("pack")
    under_g, under_h = ring.key("y_g", gadget), ring.key("y_h", gadget)
    product = ring.key("point", ring.gadget("rgsw"), product=True)
    if t == 1:
        squares = uniform_squares(c, columns, 2**15, rows)
    else:
        nats = Fraction(45) if c.default else ln(rows) + (c.asked + 30) * LN2
        likely = columns + 2 * sqrt(columns * nats) + 2 * nats
        squares = min(t * Fraction(2**32, 12) * likely, columns * t * t * Fraction(2**30))
    squares = c.term("squares", "squares", squares, FLOAT)
    entry = c.variance("selector entry", ring.sigma**2 + ring.rounded(query))
    total = c.variance("selection", squares * entry)
    total += c.variance("packing", t * ((ring.d - 2) * under_g + under_h))
    total += c.variance("evaluation", (t - 1) * product)
    response = ring.d * ring.square * ring.rounded(mask) + ring.rounded(body)
    total = c.variance("variance", total + c.variance("response", response))
    fill = Fraction(31, 32) if reserved else Fraction(1)
    limit = c.term("threshold", "threshold", fill * ring.q / (2 * p) - Fraction(t * p, 4))
    count = c.term("coefficients", "count", rows)
    parts = [tail(limit, total, count, None if c.default else ring.d)]
    c.words(parts)
    return parts


def inspire2(c):
    ring = Ring(c, "error-like")
    gammas = c.whole("gamma 0", "gamma 1", "gamma 2")
    masks, bodies = c.whole("mask digits", "body digits")
    levels = [
        c.whole(*(f"{level} {name}" for name in
                  ("columns", "plain bits", "query bits", "mask bits", "body bits")))
        for level in ("first", "second")
    ]
    digit = levels[1][1]
    need(levels[0][1:2] + levels[0][3:] == [16, masks * digit, bodies * digit], "digits")
    need(all(max(level[1:]) <= 64 for level in levels), "bits")
    switch = ring.key("key", ring.gadget("pack"))
    packing = [c.variance(f"packing {i}", (g - 1) * switch) for i, g in enumerate(gammas)]
    counts = [gammas[0], masks * ring.d + bodies * gammas[0]]
    parts = []
    for i, (name, level) in enumerate(zip(("first", "second"), levels)):
        columns, plain, query, mask, body = level
        half = Fraction(2**plain, 2)
        squares = columns * half**2 if i else uniform_squares(c, columns, half, gammas[0])
        squares = c.term(f"{name} squares", "squares", squares, FLOAT)
        total = c.variance(f"{name} selection", squares * (ring.sigma**2 + ring.rounded(query)))
        response = ring.d * ring.square * ring.rounded(mask) + ring.rounded(body)
        total += c.variance(f"{name} response", response) + (max(packing[1:]) if i else packing[0])
        total = c.variance(f"{name} variance", total)
        limit = Fraction(9, 10) * ring.q / 2 ** (plain + 1) - half / 2
        limit = c.term(f"{name} threshold", "threshold", limit)
        count = c.term(f"{name} coefficients", "count", counts[i])
        parts.append(tail(limit, total, count, None if c.default else ring.d))
    c.words(parts)
    return parts


def fair_rounding(bits):
    return Fraction(4**bits + 2, 12) if bits else Fraction(0)


def half_step(bits):
    return Fraction(2**bits, 2) if bits else Fraction(0)


def level(c, name, default):
    """One level modulo 2^32: sums of centred words times errors (SimplePIR, DoublePIR)."""
    names = ("log2 delta", "columns", "coefficients", "query bits dropped", "mask bits dropped",
             "body bits dropped", "n")
    delta, columns, count, query, mask, body, n = c.whole(*(f"{name} {what}" for what in names))
    need(0 < delta < 32 and max(query, mask, body) < 32, f"bits of the level {name!r}")
    sigma = c[f"{name} sigma"]
    c.secure(n, Fraction(2**32), "error-like", sigma)
    entry = c.variance(f"{name} selector entry", sigma**2 + fair_rounding(query))
    total = c.variance(f"{name} selection", Fraction(2 ** (31 - delta)) ** 2 * columns * entry)
    total += c.variance(f"{name} rounded masks", sigma**2 * n * half_step(mask) ** 2)
    total = c.variance(f"{name} variance", total)
    offset = c.term(f"{name} rounded body", "threshold", half_step(body))
    # The claim of the distance comes before the allowed probability, which is known.
    distance, found = c.accepted(
        f"{name} accepted", lambda x: tail(x - offset, total, count), default + c.asked - 40)
    need(distance <= math.ceil(Fraction(9, 10) * 2 ** (delta - 1)), f"{name!r} exceeds its limit")
    c.allowed(f"{name} allowed", default)
    return found


def selection(c, secret, public, digits):
    """A packed selection; its masks are public with InspiRING, and in answers with CDKS."""
    ring = Ring(c, secret)
    columns, plain, capacity, rows, singles = c.whole(
        "columns", "plain bits", "capacity", "rows", "singles")
    query, mask, body = c.whole("query bits", "mask bits", "body bits")
    need(max(plain, query, mask, body) <= 64 and 2 <= capacity <= ring.d, "parameters")
    gadget = ring.gadget("pack")
    under_key, under_last = ring.key("key", gadget), ring.key("last key", gadget)
    if not public:
        need(capacity == ring.d, f"CDKS packs of {capacity}")
        packing = under_key * (ring.d**2 - 1) / 3 * (2 if singles else 1)
    elif capacity < ring.d:
        packing = under_key * (capacity - 1)
    else:
        packing = under_key * (capacity - 2) + under_last
    half = Fraction(2**plain, 2)
    squares = columns * half**2 if digits else uniform_squares(c, columns, half, rows)
    squares = c.term("squares", "squares", squares, FLOAT)
    entry = c.variance("selector entry", ring.sigma**2 + ring.rounded(query))
    total = c.variance("selection", squares * entry) + c.variance("packing", packing)
    response = ring.d * ring.square * ring.rounded(mask) + (0 if public else ring.rounded(body))
    total = c.variance("variance", total + c.variance("response", response))
    offset = ring.q / 2**body / 2 if public else Fraction(0)
    offset = c.term("rounded body", "threshold", offset)
    fill = Fraction(31, 32) if public else Fraction(9, 10)
    limit = fill * ring.q / (4 * half) - half / 2 - offset
    limit = c.term("limit", "threshold", limit)
    terms, step = (None if c.default else ring.d), ring.q / 2**mask
    count = rows + singles
    _, found = c.accepted(
        "accepted", lambda x: tail(x * step - offset, total, count, terms), c.asked + 2, slack=1)
    c.term("coefficients", "count", count)
    allowed = c.allowed("allowed", 42)
    need(tail(limit, total, count, terms) <= -allowed + LOG2, "the limit is exceeded too often")
    return found


def compressed(c, default, message):
    """A level whose hint Paillier encryptions compress, in units of q/2^16 (ZipPIR)."""
    columns, rows, bits, query, n = c.whole(
        "columns", "rows", "message bits", "query bits dropped", "n")
    need(bits == message and query < 32, "bits of the compressed level")
    need(c["modulus bits"] >= 3072, "a Paillier modulus below 3072 bits has less than 128 bits")
    sigma = c["sigma"]
    c.secure(n, Fraction(2**32), "binary", sigma)
    entry = c.variance("selector entry", sigma**2 + fair_rounding(query))
    total = c.variance("selection", Fraction(2 ** (bits - 1), 2**16) ** 2 * columns * entry)
    total = c.variance("variance", total + c.variance("compression", Fraction(n, 24)))
    rows = c.term("coefficients", "count", rows)
    exact, terms = c.term("exact", "threshold", Fraction(101, 50)), (None if c.default else n)
    distance, found = c.accepted(
        "accepted", lambda x: tail(x - exact, total, rows, terms), default + c.asked - 40)
    need(distance <= math.ceil(Fraction(9, 10) * 2 ** (15 - bits)), "the limit is exceeded")
    c.allowed("allowed", default)
    return found


def packed_simple(secret, public):
    def rule(c):
        parts = [selection(c, secret, public, False)]
        c.words(parts)
        return parts
    return rule


def packed_double(public):
    return lambda c: [level(c, "first", 42), selection(c, "error-like", public, True)]


RULES = {
    "simple": lambda c: [level(c, "answer", 48)],
    "inspire": inspire,
    "double": lambda c: [level(c, "first", 42), level(c, "second", 42)],
    "inspire2": inspire2,
    "inspire0": packed_double(True),
    "ypir": packed_double(False),
    "simpleypir": packed_simple("error-like", False),
    "inspire1": packed_simple("ternary", True),
    "zip": lambda c: [compressed(c, 44, 8)],
    "zipdouble": lambda c: [level(c, "first", 42), compressed(c, 42, 7)],
}
BATCHES = {"inspire-batch": "inspire", "simple-batch": "simple"}
# Answers that are not encrypted always decode.
NEVER = ("plain", "download")


def check(data):
    """Returns log2 of the proved bound, or None if answers always decode; raises Refused."""
    c = Certificate(data)
    need("below" not in data or c.scheme in BATCHES, "a certificate below, of no batch")
    if "never_fails" in data:
        need(c.scheme in NEVER, f"{c.scheme!r} can fail")
        need(not (c.parameters or c.terms or c.sets or "failure_bits" in data), "terms of no bound")
        return None
    if c.scheme in BATCHES:
        below = data.get("below", {})
        need(below.get("scheme") == BATCHES[c.scheme], f"batches over {below.get('scheme')!r}")
        check(below)
        buckets, parts = c.whole("buckets", "parts")
        groups = c.term("groups", "count", -(-buckets // max(parts, 1)))
        found = [log2(groups) - number(below["failure_bits"])]
    else:
        need(c.scheme in RULES, f"no rules for the scheme {c.scheme!r}")
        found = RULES[c.scheme](c)
    need(not c.terms, f"unknown terms {c.terms}")
    need(not c.sets, f"unknown sets {c.sets}")
    unknown = c.parameters.keys() - c.used
    need(not unknown, f"unknown parameters {sorted(unknown)}")
    found, claimed = log2_sum(found), number(data["failure_bits"])
    need(found <= -claimed + LOG2, f"computed 2^{float(found):.9f}: 2^-{float(claimed):.9f} claimed")
    need(claimed >= c.asked - Fraction(1, 10**4), f"2^-{float(claimed):.4f}: asked 2^-{c.asked}")
    return found


def main(paths):
    need(paths, "usage: certificate.py FILE... (- for standard input)")
    for path in paths:
        text = sys.stdin.read() if path == "-" else open(path, encoding="utf-8").read()
        data = json.loads(text)
        found = check(data)
        bound = "never fails" if found is None else f"fails with at most 2^{float(found):.4f}"
        print(f"{path}: {data['scheme']}: an answer {bound}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Refused, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, OSError) as error:
        sys.exit(f"refused: {type(error).__name__}: {error}")
