"""Reconstruction of numbers from residues: Garner, and sums of shares of many primes."""

from engine import proves
from reduction import LONG, WORD, shoup, subtract_once, wrap
from terms import choose, every

SHARES = "crates/kernels/src/portable/small_prime.rs"
CONSTANTS = "crates/kernels/src/small_prime/constants.rs"


@proves(
    "Gadget2::shifted, before the digits",
    "crates/kernels/src/gadget/base.rs",
    "odd coprime q1 and q2 from 3 to 2^30 - 1, r1 below q1, r2 below q2",
    [dict(lift_round=0), dict(inverse_error=1)],
)
def garner(s, lift_round=1, inverse_error=0):
    h1 = s.integer("h1", 1, (1 << 29) - 1)
    h2 = s.integer("h2", 1, (1 << 29) - 1)
    q1, q2 = 2 * h1 + 1, 2 * h2 + 1
    r1 = s.integer("r1", 0, q1 - 1)
    r2 = s.integer("r2", 0, q2 - 1)
    inverse = s.defined("inverse", lambda: inverse_or_zero(q1.value, q2.value))
    turns = s.defined("turns", lambda: (inverse * q1 - 1).value // q2.value)
    s.assume(every(inverse >= 0, inverse < q2, inverse * q1 == 1 + turns * q2))
    rounds, _ = s.divide(q1 + lift_round * (q2 - 1), q2)
    lift = rounds * q2
    s.step(every(lift >= q1, lift < q1 + q2))
    difference = r2 + lift - r1
    s.step(every(difference >= 0, difference < WORD))

    factor = inverse + inverse_error
    lazy, estimate = shoup(s, difference, factor, q2)
    s.step(every(lazy == difference * factor - estimate * q2, lazy >= 0, lazy < 2 * q2))
    digit, once = subtract_once(s, lazy, q2)
    s.step(every(digit == difference * factor - estimate * q2 - once, digit >= 0, digit < q2))
    removed = s.defined("removed", lambda: once.value // q2.value)
    s.assume(removed * q2 == once)

    x = r1 + q1 * digit
    s.nonnegative((q1, q2 - 1 - digit), (q1, digit))
    s.step(every(x >= 0, x < q1 * q2))
    # x - r2 = (lift - multiples) of q2, by q1 * inverse = 1 + turns * q2.
    s.scale(q1, digit, difference * inverse - (estimate + removed) * q2)
    s.scale(difference, inverse * q1, 1 + turns * q2)
    multiple = rounds + difference * turns - q1 * (estimate + removed)
    s.claim(every(difference >= 0, difference < WORD, x >= 0, x < q1 * q2, x == r2 + multiple * q2))


def inverse_or_zero(a, m):
    try:
        return pow(a, -1, m)
    except ValueError:
        return 0


@proves(
    "Shortest::apply",
    CONSTANTS,
    "q from 3 to 2^32 - 1, p from 2 to 2^16 - 1, words below q",
    [dict(strict=0), dict(shift=1)],
)
def shortest_lift(s, strict=1, shift=0):
    q = s.integer("q", 3, WORD - 1)
    p = s.integer("p", 2, (1 << 16) - 1)
    word = s.integer("word", 0, q - 1)
    half, _ = s.divide(q, 2)
    turns, wrapped = s.divide(q, p)
    lazy, estimate = shoup(s, word, 1, p)
    s.step(every(lazy == word - estimate * p, lazy >= 0, lazy < 2 * p))
    residue, once = subtract_once(s, lazy, p)
    s.step(every(residue == lazy - once, residue >= 0, residue < p))
    above = word >= half + strict
    difference = wrap(s, residue - choose(above, wrapped + shift, 0))
    found = choose(difference < wrap(s, difference + p), difference, wrap(s, difference + p))
    added = choose(found == difference, 0, p)
    multiple = estimate * p + once - choose(above, turns * p, 0) - added
    centred = choose(2 * word > q, word - q, word)
    s.claim(every(found >= 0, found < p, found == centred - multiple))


@proves(
    "add_share, one residue",
    SHARES,
    "p from 2 to 2^16 - 1, factors below p, 6542 primes",
    [dict(half=31), dict(primes=1 << 15)],
)
def share_of_a_residue(s, half=32, primes=6542):
    p = s.integer("p", 2, (1 << 16) - 1)
    factor = s.integer("factor", 0, p - 1)
    terms = s.integer("terms", 0, primes)
    unit, missing = s.divide(1 << 50, p)
    high, low = s.divide(unit, 1 << half)
    s.nonnegative((p - 2, unit), (factor, missing), (p - 1 - factor, unit))
    s.nonnegative((factor, low), (factor, unit))
    s.nonnegative((factor, high), (p - 1 - factor, high), ((1 << 50) - unit, p))
    s.scale(factor, unit, high * (1 << half) + low)
    s.scale(factor, unit * p + missing, 1 << 50)
    s.nonnegative((p - 1 - factor, missing), (p, p - 1 - missing))
    quotient = s.defined("share", lambda: (factor * unit).value)
    s.assume(quotient == factor * unit)
    s.step(every(quotient >= 0, quotient < 1 << 50))
    s.nonnegative((primes - terms, quotient), (terms, quotient))
    # Short of factor/p by less than 2^16 units of 2^-50.
    lost = factor * (1 << 50) - quotient * p
    s.claim(
        every(
            factor * low + (factor * high) * (1 << 32) == quotient,
            factor * low < LONG,
            lost >= 0,
            lost < p * (1 << 16),
            terms * quotient < 1 << 63,
        )
    )


@proves(
    "small_prime::finish",
    SHARES,
    "6542 primes, quotients within 1/4 of a whole number, shares short by 2^16 units each",
    [dict(rounding=0), dict(loss=1 << 36)],
)
def rounded_quotient(s, rounding=1, loss=1 << 16):
    unit = 1 << 50
    whole = s.integer("whole", 0, 6542)
    distance = s.integer("distance", -(unit >> 2), unit >> 2)
    lost = s.integer("lost", 0, 6542 * loss)
    total = whole * unit + distance - lost
    s.assume(total >= 0)
    found, _ = s.divide(total + rounding * (unit >> 1), unit)
    s.claim(every(found == whole, total + (unit >> 1) < LONG))


@proves(
    "Lift: the number from its shares",
    "crates/ring/src/crt.rs",
    "two distinct primes of any size, one the product of all others; any x",
    [dict(off=1)],
)
def two_shares(s, off=0):
    p1 = s.integer("p1", 2, 1 << 64)
    p2 = s.integer("p2", 2, 1 << 64)
    x = s.integer("x", 0, p1 * p2 - 1)
    i1 = s.defined("i1", lambda: inverse_or_zero(p2.value, p1.value))
    t1 = s.defined("t1", lambda: (i1 * p2 - 1).value // p1.value)
    i2 = s.defined("i2", lambda: inverse_or_zero(p1.value, p2.value))
    t2 = s.defined("t2", lambda: (i2 * p1 - 1).value // p2.value)
    s.assume(every(i1 * p2 == 1 + t1 * p1, i2 * p1 == 1 + t2 * p2))
    # v = x * (P/p)^-1 modulo p, for each p.
    k1, v1 = s.divide(x * i1 + off, p1)
    k2, v2 = s.divide(x * i2, p2)
    total = v1 * p2 + v2 * p1
    # total = x modulo p1, by v1*p2 = x*i1*p2 - k1*p1*p2 = x + p1*(...), and modulo p2 likewise.
    s.scale(p2, v1, x * i1 + off - k1 * p1)
    s.scale(x, i1 * p2, 1 + t1 * p1)
    s.scale(p1, v2, x * i2 - k2 * p2)
    s.scale(x, i2 * p1, 1 + t2 * p2)
    s.claim(
        every(
            total - x == p1 * (x * t1 - k1 * p2 + v2),
            total - x == p2 * (x * t2 - k2 * p1 + v1),
        )
    )
