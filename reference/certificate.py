#!/usr/bin/env python3
"""Checks a certificate of a failure bound: `certificate.py FILE...`, or `-` for standard input.

papir inspect FILE --certificate OUT.json writes such files. This program shares no code with papir.
It computes every term again from the parameters, with its own formulas and exact fractions, and
bounds exp, ln and square roots from the safe side. It accepts a certificate only if all terms agree,
the bound follows from them, and a row of the table of estimates (certificate_terms.py) gives 128
bits. Everything unknown is refused.
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from certificate_terms import (
    FLOAT, LN2, LOG2, Certificate, Refused, Ring, ln, log2, log2_sum, need, number, sqrt, tail,
    uniform_squares,
)


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
    words, between = c.whole("words of an entry", "bits between words")
    query, mask, body = c.whole("query bits", "mask bits", "body bits")
    need(max(plain, query, mask, body) <= 64 and 2 <= capacity <= ring.d, "parameters")
    need(1 <= words <= 8 and (between > plain if words > 1 else between == 0), "words of an entry")
    need((words - 1) * between < query, "an entry beyond the selector")
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
    # The words of an entry are 2^between apart, and each place has rows of words of its own.
    gain = sum(Fraction(2) ** (between * i) for i in range(words))
    squares = columns * half**2 if digits else uniform_squares(c, columns, half, rows * words)
    squares = c.term("squares", "squares", gain**2 * squares, FLOAT)
    entry = c.variance("selector entry", ring.sigma**2 + ring.rounded(query))
    total = c.variance("selection", squares * entry) + c.variance("packing", packing)
    response = ring.d * ring.square * ring.rounded(mask) + (0 if public else ring.rounded(body))
    total = c.variance("variance", total + c.variance("response", response))
    offset = ring.q / 2**body / 2 if public else Fraction(0)
    offset = c.term("rounded body", "threshold", offset)
    below = sum(Fraction(2) ** (-between * i) for i in range(1, words))
    below = c.term("words below", "threshold", ring.q / 2 * below)
    fill = Fraction(31, 32) if public else Fraction(9, 10)
    limit = fill * ring.q / (4 * half) - half / 2 * gain - offset - below
    limit = c.term("limit", "threshold", limit)
    terms, step = (None if c.default else ring.d), ring.q / 2**mask
    count = rows + singles
    _, found = c.accepted(
        "accepted", lambda x: tail(x * step - offset - below, total, count, terms), c.asked + 2, slack=1)
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
        need(c.default and data["never_fails"], "no reason, or a bound that was asked for")
        return None
    if c.scheme in BATCHES:
        below = data.get("below", {})
        need(below.get("scheme") == BATCHES[c.scheme], f"batches over {below.get('scheme')!r}")
        need(below.get("asked_bits") == data["asked_bits"], "another bound below was asked for")
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
