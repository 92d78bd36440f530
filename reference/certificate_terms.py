"""Exact numbers, the reader of certificates, and the noise of rings: for certificate.py."""


import math
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
        # Exact: q <= 2^b for b with three decimals. Longer moduli are refused before the power.
        small = q.denominator == 1 and q < 2**64 and q**1000 <= 2 ** int(Fraction(most_q) * 1000)
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
