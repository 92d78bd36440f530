"""Reductions modulo numbers below 2^30 and 2^50: Barrett, Shoup and Montgomery."""

from engine import proves
from terms import choose, every, least

WORD = 1 << 32
LONG = 1 << 64

SMALL = "crates/kernels/src/modulus.rs"
WIDE = "crates/kernels/src/wide/modulus.rs"
NTT = "crates/kernels/src/portable/ntt.rs"


def wrap(s, x, size=WORD):
    """x as a word that wraps."""
    return s.divide(x, size)[1]


def subtract_once(s, x, q, size=WORD):
    """x, less q if that does not wrap; and what was subtracted: 0 or q."""
    less = wrap(s, x - q, size)
    return least(x, less), choose(x < less, 0, q)


# --- Shoup and Barrett, words of 32 bits ---


def shoup(s, v, w, q, size=WORD, round_up=0):
    """`Factor::mul_lazy` by w: the result, and the estimate of its quotient."""
    constant, rest = s.divide(w * size, q)
    constant = constant + round_up
    estimate, low = s.divide(v * constant, size)
    found = wrap(s, wrap(s, v * w, size) - wrap(s, estimate * q, size), size)

    exact = v * w - estimate * q
    s.nonnegative((size - 1 - low, q), (size - 1 - v, rest), (low, q), (v, rest))
    s.scale(v, w * size, (constant - round_up) * q + rest)
    s.scale(q, v * constant, estimate * size + low)
    s.step(exact * size == low * q + v * rest)
    s.step(every(exact >= 0, exact < 2 * q))
    return found, estimate


@proves(
    "Factor::mul_lazy",
    SMALL,
    "q from 2 to 2^30 - 1, w below q, v of 32 bits",
    [dict(largest=1 << 32), dict(round_up=1), dict(bound=1)],
)
def shoup_product(s, largest=1 << 30, round_up=0, bound=2):
    q = s.integer("q", 2, largest - 1)
    w = s.integer("w", 0, q - 1)
    v = s.integer("v", 0, WORD - 1)
    found, estimate = shoup(s, v, w, q, WORD, round_up)
    s.claim(every(found == v * w - estimate * q, found >= 0, found < bound * q))


@proves(
    "Modulus::subtract_once",
    SMALL,
    "q from 2 to 2^30 - 1, x below 2q",
    [dict(times=3), dict(by=2)],
)
def subtract_one_modulus(s, times=2, by=1):
    q = s.integer("q", 2, (1 << 30) - 1)
    x = s.integer("x", 0, times * q - 1)
    found, _ = subtract_once(s, x, by * q)
    s.claim(every(found >= 0, found < q, (found == x) | (found == x - q)))


@proves("Modulus::add", SMALL, "q from 2 to 2^30 - 1, a and b below q", [dict(slack=1)])
def sum_modulo(s, slack=0):
    q = s.integer("q", 2, (1 << 30) - 1)
    a = s.integer("a", 0, q - 1 + slack)
    b = s.integer("b", 0, q - 1 + slack)
    total = wrap(s, a + b)
    found, removed = subtract_once(s, total, q)
    s.claim(every(total == a + b, found == a + b - removed, found >= 0, found < q))


@proves("Modulus::sub", SMALL, "q from 2 to 2^30 - 1, a and b below q", [dict(slack=2), dict(by=2)])
def difference_modulo(s, slack=0, by=1):
    q = s.integer("q", 2, (1 << 30) - 1)
    a = s.integer("a", 0, q - 1)
    b = s.integer("b", 0, q - 1 + slack)
    difference = wrap(s, a - b)
    found = least(difference, wrap(s, difference + by * q))
    s.claim(every(found >= 0, found < q, (found == a - b) | (found == a - b + q)))


@proves(
    "Modulus::mul",
    SMALL,
    "each number of bits of q from 2 to 30; all q of that length, a and b below q",
    [dict(bits=30, shift=2), dict(bits=8, shift=0), dict(bits=30, round_up=4)],
    [dict(bits=bits) for bits in range(2, 31)],
)
def barrett_product(s, bits, shift=1, round_up=0):
    q = s.integer("q", 1 << (bits - 1), (1 << bits) - 1)
    a = s.integer("a", 0, q - 1)
    b = s.integer("b", 0, q - 1)
    ratio, missing = s.divide(1 << (2 * bits), q)
    ratio = ratio + round_up

    product = a * b
    s.nonnegative((a, b), (q - 1 - a, b), (q - 1 - b, q - 1), ((1 << bits) - 1 - q, q))
    s.step(every(product >= 0, product < 1 << (2 * bits)))
    high, cut = s.divide(product, 1 << (bits - 1))
    estimate, low = s.divide(high * ratio, 1 << (bits + shift))
    s.cancel(q, -1, ratio)
    s.nonnegative((ratio, q - (1 << (bits - 1))))
    # The words of the machine: none of these loses a bit.
    s.step(every(high < 1 << (bits + 1), high < WORD, ratio <= 1 << (bits + 1), ratio < WORD))

    s.nonnegative((high, missing), (low, q), ((1 << (bits + shift)) - 1 - low, q))
    s.nonnegative(((1 << (bits + 1)) - 1 - high, missing))
    exact = product - estimate * q
    scale = 1 << (bits + 1)
    s.scale(q, high * ratio, estimate * (1 << (bits + shift)) + low)
    s.scale(high, ratio * q + missing, 1 << (2 * bits))
    s.step(exact * scale == cut * scale + high * missing + low * q)
    s.step(every(exact >= 0, exact < 3 * q))
    s.nonnegative((high, ratio), ((1 << (bits + 1)) - 1 - high, ratio))
    s.step(every(estimate >= 0, estimate < 1 << (bits + 1)))
    _, word = s.divide(estimate, WORD)
    s.step(word == estimate)
    s.scale(q, word, estimate)
    product_turns, product_word = s.divide(product, WORD)
    taken_turns, taken_word = s.divide(word * q, WORD)
    turns, rest = s.divide(product_word - taken_word, WORD)
    k = s.defined("k", lambda: (taken_turns - product_turns - turns).value)
    s.assume(k == taken_turns - product_turns - turns)
    s.step(every(rest - exact == k * WORD, exact < WORD))
    s.step(k == 0)

    first, twice = subtract_once(s, rest, 2 * q)
    s.step(every(first == exact - twice, first >= 0, first < 2 * q))
    found, once = subtract_once(s, first, q)
    s.claim(every(found == product - estimate * q - twice - once, found >= 0, found < q))


def word_rest(s, x, q, size, round_up=0):
    """`reduce_word_lazy`, and `reduce_lazy` of a wide modulus: the result and the estimate."""
    ratio, missing = s.divide(size, q)
    ratio = ratio + round_up
    estimate, low = s.divide(x * ratio, size)
    exact = x - estimate * q
    s.nonnegative((size - 1 - low, q), (size - 1 - x, missing), (low, q), (x, missing))
    s.scale(x, ratio * q + missing, size)
    s.scale(q, x * ratio, estimate * size + low)
    s.step(exact * size == low * q + x * missing)
    s.step(every(exact >= 0, exact < 2 * q))
    return wrap(s, x - wrap(s, estimate * q, size), size), estimate


@proves(
    "Modulus::reduce_word_lazy",
    SMALL,
    "q from 2 to 2^30 - 1, x of 32 bits",
    [dict(round_up=1), dict(bound=1)],
)
def word_in_two_moduli(s, round_up=0, bound=2):
    q = s.integer("q", 2, (1 << 30) - 1)
    x = s.integer("x", 0, WORD - 1)
    found, estimate = word_rest(s, x, q, WORD, round_up)
    s.claim(every(found == x - estimate * q, found >= 0, found < bound * q))


@proves(
    "Modulus::reduce",
    SMALL,
    "q from 2 to 2^30 - 1, x of 64 bits",
    [dict(first=1), dict(largest=1 << 32)],
)
def long_modulo(s, first=2, largest=1 << 30):
    q = s.integer("q", 2, largest - 1)
    upper = s.integer("upper", 0, WORD - 1)
    lower = s.integer("lower", 0, WORD - 1)
    folds, word = s.divide(WORD, q)

    high, high_estimate = shoup(s, upper, word, q)
    low, low_estimate = word_rest(s, lower, q, WORD)
    total = wrap(s, high + low)
    s.step(every(high == upper * word - high_estimate * q, low == lower - low_estimate * q))
    s.step(every(total == high + low, total < 4 * q))
    half, twice = subtract_once(s, total, first * q)
    found, once = subtract_once(s, half, q)
    s.step(every(found == total - twice - once, found >= 0, found < q))
    s.scale(upper, folds * q + word, WORD)
    taken = (folds * upper + high_estimate + low_estimate) * q + twice + once
    s.claim(every(found == upper * WORD + lower - taken, found >= 0, found < q))


# --- Words of 64 bits ---


@proves(
    "Modulus::reduce",
    WIDE,
    "q from 3 to 2^50 - 1, x of 64 bits",
    [dict(round_up=1), dict(bound=2)],
)
def wide_word_modulo(s, round_up=0, bound=1):
    q = s.integer("q", 3, (1 << 50) - 1)
    x = s.integer("x", 0, LONG - 1)
    lazy, estimate = word_rest(s, x, q, LONG, round_up)
    s.step(lazy == x - estimate * q)
    found, once = subtract_once(s, lazy, bound * q, LONG)
    s.claim(every(found == x - estimate * q - once, found >= 0, found < q))


@proves(
    "Modulus::reduce_sum, Modulus::mul",
    WIDE,
    "q from 3 to 2^50 - 1, x below 2^116",
    [dict(last=2), dict(last=0)],
)
def wide_sum_modulo(s, last=1):
    q = s.integer("q", 3, (1 << 50) - 1)
    upper = s.integer("upper", 0, LONG - 1)
    lower = s.integer("lower", 0, (1 << 52) - 1)
    folds, fold = s.divide(1 << 52, q)

    high, high_estimate = shoup(s, upper, fold, q, LONG)
    low, low_estimate = word_rest(s, lower, q, LONG)
    total = wrap(s, high + low, LONG)
    s.step(every(high == upper * fold - high_estimate * q, low == lower - low_estimate * q))
    s.step(every(total == high + low, total < 4 * q))
    half, twice = subtract_once(s, total, 2 * q, LONG)
    found, once = subtract_once(s, half, last * q, LONG)
    s.step(every(found == total - twice - once, found >= 0, found < q))
    s.scale(upper, folds * q + fold, 1 << 52)
    taken = (folds * upper + high_estimate + low_estimate) * q + twice + once
    s.claim(every(found == upper * (1 << 52) + lower - taken, found >= 0, found < q))


@proves(
    "portable::wide::dot",
    "crates/kernels/src/portable/wide.rs",
    "q from 3 to 2^50 - 1, up to 2^11 products of factors below 4q and q, or below 2q",
    [dict(count=1 << 15)],
)
def wide_sums_fit(s, count=1 << 11):
    q = s.integer("q", 3, (1 << 50) - 1)
    terms = s.integer("terms", 0, count)
    a = s.integer("a", 0, 4 * q - 1)
    b = s.integer("b", 0, q - 1)
    s.nonnegative((4 * q - 1 - a, b), (q - 1 - b, 4 * q - 1), ((1 << 50) - 1 - q, q))
    s.step(every(a * b >= 0, a * b < 1 << 102))
    product = s.defined("product", lambda: (a * b).value)
    s.assume(product == a * b)
    s.nonnegative((count - terms, product), (terms, product))
    s.claim(terms * product < 1 << 116)


@proves(
    "wide Factor::mul_signed",
    WIDE,
    "odd q from 3 to 2^50 - 1, w below q, v below 2^52, R = 2^52",
    [dict(inverse_error=1 << 51), dict(bits=53), dict(bound=0)],
)
def montgomery_product_of_52_bits(s, inverse_error=0, bits=52, bound=1):
    r = 1 << 52
    spare = 1 << 12
    half = s.integer("half", 1, (1 << 49) - 1)
    q = 2 * half + 1
    value = s.integer("value", 0, q - 1)
    v = s.integer("v", 0, (1 << bits) - 1)
    # The property of the inverse that `montgomery_inverse` proves.
    inverse = s.defined("inverse", lambda: pow(q.value, -1, r))
    turns = s.defined("turns", lambda: (inverse * q - 1).value // r)
    s.assume(every(inverse >= 0, inverse < r, inverse * q == 1 + r * turns))

    skipped, quotient = s.divide(value * (inverse + inverse_error), r)
    wraps, m = s.divide(v * (quotient * spare), LONG)
    left, left_low = s.divide(v * (value * spare), LONG)
    right, right_low = s.divide(m * q, LONG)

    # m is a multiple of 2^12: its low twelve bits are zero by the shift of the quotient.
    digit = v * quotient - r * wraps
    s.step(m == spare * digit)
    s.step(every(digit >= 0, digit < r))
    s.scale(value, inverse * q, 1 + r * turns)
    s.scale(q, value * inverse, skipped * r + quotient)
    s.step(quotient * q == value + r * (value * turns - skipped * q))
    s.scale(v, quotient * q, value + r * (value * turns - skipped * q))
    s.step(digit * q == v * value + r * (v * (value * turns - skipped * q) - wraps * q))
    multiple = v * (value * turns - skipped * q) - wraps * q
    k = s.defined("k", lambda: (right - left - multiple).value)
    s.assume(k == right - left - multiple)
    s.step(left_low - right_low == LONG * k)
    s.step(k == 0)
    s.step(left_low == right_low)
    s.nonnegative((r - 1 - v, value), (r - 1 - digit, q), (v, value), (digit, q))
    result = left - right
    s.step(result * r == v * value - digit * q)
    s.claim(result * LONG == v * value * spare - m * q)
    s.claim(every(result < bound * q, result > -bound * q))


def newton(s, bits, size, three=2):
    """One round of Newton's iteration for 1/q in wrapping words, from `bits` correct bits."""
    half = s.integer("half", 0, (size >> 1) - 1)
    q = 2 * half + 1
    known = min(1 << bits, size)
    correct = min(1 << (2 * bits), size)
    # Any word y with q*y = 1 modulo 2^bits.
    lift = s.integer("lift", 0, size // known - 1)
    start = s.defined("start", lambda: pow(q.value, -1, known))
    y = start + known * lift
    t = s.defined("t", lambda: (q * y - 1).value // known)
    s.assume(every(start >= 0, start < known, q * y == 1 + known * t))

    product_wraps, product = s.divide(q * y, size)
    inner_wraps, inner = s.divide(three - product, size)
    outer_wraps, found = s.divide(y * inner, size)
    # With p = q*y: q*y*(2 - p) = p*(2 - p) = 1 - (p - 1)^2.
    s.step(inner == three - q * y + size * (product_wraps - inner_wraps))
    s.scale(inner, q * y, 1 + known * t)
    s.scale(1 + known * t, inner, 1 - known * t + size * (product_wraps - inner_wraps))
    s.step(
        (1 + known * t) * inner
        == 1 - known * known * (t * t) + size * ((1 + known * t) * (product_wraps - inner_wraps))
    )
    s.scale(q, y * inner, size * outer_wraps + found)
    s.step(
        q * found
        == 1
        - known * known * (t * t)
        + size * ((1 + known * t) * (product_wraps - inner_wraps) - q * outer_wraps)
    )
    s.claim(s.divide(q * found - 1, correct)[1] == 0)


@proves(
    "wide Factor::new",
    WIDE,
    "odd q of 64 bits; the rounds from 3, 6, 12, 24 and 48 bits, and the first three bits",
    [dict(bits=6, three=3)],
    [dict(bits=bits) for bits in (3, 6, 12, 24)] + [dict(bits=48)],
)
def montgomery_inverse(s, bits, three=2):
    newton(s, bits, LONG, three)


@proves(
    "integer::negated_inverse, wide Factor::new",
    "crates/kernels/src/bigint_mod/integer.rs",
    "odd x of 64 bits",
    [dict(bits=4)],
)
def first_three_bits_of_an_inverse(s, bits=3):
    x = s.word("x", 64)
    s.assume(x & 1 == 1)
    s.claim((x * x - 1) & ((1 << bits) - 1) == 0)


@proves(
    "reduce, add_product (portable bigint_mod)",
    "crates/kernels/src/portable/bigint_mod.rs",
    "integers of any size: 64m <= R, x and y below 2m, quotient below R",
    [dict(spare=2, factor=4), dict(factor=16)],
)
def montgomery_bound(s, spare=64, factor=2):
    m = s.integer("m", 3)
    r = s.integer("r", spare * m)
    x = s.integer("x", 0, factor * m - 1)
    y = s.integer("y", 0, factor * m - 1)
    quotient = s.integer("quotient", 0, r - 1)
    z, _ = s.divide(x * y + quotient * m, r)
    # In the code the quotient makes the rest zero; the bound holds for the floor anyway.
    s.nonnegative((factor * m - 1 - x, y), (factor * m - 1 - y, factor * m - 1), (m, r - spare * m))
    s.nonnegative((r - 1 - quotient, m), (x, y), (quotient, m), (m, r))
    s.step(x * y + quotient * m < 2 * (m * r))
    s.cancel(r, z, 2 * m)
    s.claim(every(z >= 0, z < 2 * m))


def multiple_of(t, m, r):
    """q below r with t + q*m = 0 modulo r; -1 if there is none."""
    try:
        return -t * pow(m, -1, r) % r
    except ValueError:
        return -1


@proves(
    "reduce_digits (portable bigint_mod)",
    "crates/kernels/src/portable/bigint_mod.rs",
    "integers of any size: 64m <= R, digits below 2m, both quotients below R",
    [dict(spare=2), dict(lower=0)],
)
def montgomery_bound_of_high_digits(s, spare=64, lower=1):
    m = s.integer("m", 3)
    r = s.integer("r", spare * m)
    a, b, c, d = [s.integer(name, 0, 2 * m - 1) for name in "abcd"]
    first = s.integer("first", 0, r - 1)
    t = a * d + b * c - first
    # The quotient that makes the sum a multiple of R; R and m are coprime in the code.
    second = s.defined("second", lambda: multiple_of(t.value, m.value, r.value))
    s.assume(every(second >= 0, second < r))
    z = s.defined("z", lambda: (t + second * m).value // r.value)
    s.assume(t + second * m == z * r)
    for x, y in ((a, d), (b, c)):
        s.nonnegative((2 * m - 1 - x, y), (2 * m - 1 - y, 2 * m - 1), (x, y))
    s.nonnegative((m, r - spare * m), (r - 1 - second, m), (second, m), (m, r))
    s.step(every(t > -lower * r, t + second * m < 2 * (m * r)))
    s.cancel(r, -1, z)
    s.cancel(r, z, 2 * m)
    s.claim(every(t > -lower * r, z >= 0, z < 2 * m))


# --- Transforms ---


@proves(
    "NttTable::forward",
    NTT,
    "q from 2 to 2^30 - 1, u and v below 4q, any lazy product below 2q",
    [dict(largest=1 << 31), dict(inputs=5), dict(lazy=3)],
)
def forward_butterfly(s, largest=1 << 30, inputs=4, lazy=2):
    q = s.integer("q", 2, largest - 1)
    u = s.integer("u", 0, inputs * q - 1)
    product = s.integer("product", 0, lazy * q - 1)
    total, removed = subtract_once(s, u, 2 * q)
    plus, minus = total + product, total + 2 * q - product
    s.claim(every(total == u - removed, 4 * q <= WORD, plus < 4 * q, minus >= 0, minus < 4 * q))


@proves(
    "NttTable::inverse, NttTable::reduce",
    NTT,
    "q from 2 to 2^30 - 1, u and v below 2q, x below 4q",
    [dict(inputs=4), dict(largest=1 << 31)],
)
def inverse_butterfly(s, largest=1 << 30, inputs=2):
    q = s.integer("q", 2, largest - 1)
    u = s.integer("u", 0, inputs * q - 1)
    v = s.integer("v", 0, inputs * q - 1)
    x = s.integer("x", 0, 4 * q - 1)
    total, removed = subtract_once(s, wrap(s, u + v), 2 * q)
    half, _ = subtract_once(s, x, 2 * q)
    reduced, _ = subtract_once(s, half, q)
    difference = u + 2 * q - v
    s.claim(
        every(
            total == u + v - removed,
            total < 2 * q,
            difference >= 0,
            difference < WORD,
            u + v < WORD,
            reduced < q,
        )
    )


# --- Residues of signed words ---


@proves(
    "portable::wide::from_signed (q <= 2^31), portable::gadget::to_residues",
    "crates/kernels/src/portable/wide.rs",
    "q from 3 to 2^31, every signed word of 32 bits",
    [dict(raise_by=(1 << 31) - 1), dict(round_up=1)],
)
def residue_of_a_signed_word(s, raise_by=1 << 31, round_up=0):
    q = s.integer("q", 3, 1 << 31)
    word = s.integer("word", -(1 << 31), (1 << 31) - 1)
    raised = word + (1 << 31)
    ratio, missing = s.divide(WORD, q)
    ratio = ratio + round_up
    s.nonnegative((raised, ratio), (WORD - 1 - raised, ratio))
    s.step(raised * ratio < LONG)
    estimate, low = s.divide(raised * ratio, WORD)
    exact = raised - estimate * q
    s.nonnegative((WORD - 1 - low, q), (WORD - 1 - raised, missing), (low, q), (raised, missing))
    s.scale(raised, ratio * q + missing, WORD)
    s.scale(q, raised * ratio, estimate * WORD + low)
    s.step(exact * WORD == low * q + raised * missing)
    s.step(every(exact >= 0, exact < 2 * q))
    lazy = wrap(s, raised - wrap(s, estimate * q, LONG), LONG)
    reduced, once = subtract_once(s, lazy, q, LONG)
    turns, middle = s.divide(raise_by, q)
    difference = wrap(s, reduced - middle, LONG)
    found = least(difference, wrap(s, difference + q, LONG))
    added = choose(found == difference, 0, q)
    s.step(every(reduced == exact - once, reduced >= 0, reduced < q))
    s.step(every(found >= 0, found < q, found == reduced - middle + added))
    multiple = (estimate - turns) * q + once - added
    s.claim(every(found >= 0, found < q, found == word - multiple))


@proves(
    "portable::wide::from_signed (q > 2^31)",
    "crates/kernels/src/portable/wide.rs",
    "q from 2^31 + 1 to 2^50 - 1, every signed word of 32 bits",
    [dict(least_q=1 << 30), dict(shift=30)],
)
def residue_by_one_addition(s, least_q=(1 << 31) + 1, shift=63):
    q = s.word("q", 64)
    word = s.word("word", 32)
    s.assume(every(q >= least_q, q < 1 << 50))
    long = word.sign_widened(64)
    found = long + (q & long.sign_shift(shift))
    s.claim(every(found < q, (found == long) | (found == long + q)))
