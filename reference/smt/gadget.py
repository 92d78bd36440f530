"""Balanced digits, centring, and switches between moduli."""

from engine import proves
from terms import choose, every

DIGITS = "crates/kernels/src/gadget/digits.rs"
SWITCH = "crates/lattice/src/mod_switch.rs"

# Bases, dropped bits and numbers of digits; each with a top digit that starts at bit 60 or below.
SHAPES = [
    dict(base=base, drop=drop, levels=levels)
    for base in (1, 2, 6, 9, 12, 15, 19, 28, 30)
    for drop in (0, 1, 14, 30)
    for levels in (1, 2, 3, 4, 7)
    if drop + base * (levels - 1) <= 60
]


def offset(base, drop, levels, bias=1 << 62):
    halves = sum(1 << (drop + base * (level + 1) - 1) for level in range(levels - 1))
    return bias + (1 << drop) // 2 + halves


def centred(x, q):
    return choose(x > q >> 1, x - q, x)


def at_most(word, bound):
    """A signed word from -bound to bound."""
    return word + bound <= bound + bound


@proves(
    "Digits::shifted, the centre",
    DIGITS,
    "q up to 2^60, x below q",
    [dict(shift=58), dict(strict=1)],
)
def centre_of_a_word(s, shift=63, strict=0):
    q = s.word("q", 64, 1, 1 << 60)
    x = s.word("x", 64, 0, q - 1)
    s.assume(x < q)
    above = ((q >> 1) - x - strict).sign_shift(shift)
    found = x - (q & above)
    s.claim(every(found == centred(x, q), at_most(found, q >> 1)))


def digits(s, word, base, drop, levels, bias=1 << 62):
    """`Digits::digit` of each level below the top, and `Digits::top_digit`, of a shifted word."""
    rests = [s.divide(word, 1 << (drop + base * level))[0] for level in range(levels)]
    found = []
    for level in range(levels - 1):
        upper, low = s.divide(rests[level], 1 << base)
        s.step(upper == rests[level + 1])
        found.append(low - (1 << base) // 2)
    return [*found, rests[-1] - (bias >> (drop + base * (levels - 1)))]


@proves(
    "Digits::digit, Digits::top_digit",
    DIGITS,
    f"integers up to 2^59 in absolute value; {len(SHAPES)} shapes of bases from 1 to 30 bits, "
    "0 to 30 dropped bits, 1 to 7 digits",
    [dict(base=19, drop=0, levels=3, wrong=1), dict(base=12, drop=14, levels=3, bias=1 << 58)],
    SHAPES,
)
def recomposed_digits(s, base, drop, levels, wrong=0, bias=1 << 62):
    x = s.integer("x", -(1 << 59), 1 << 59)
    word = x + offset(base, drop, levels, bias) + wrong
    s.step(every(word >= 0, word < 1 << 63))
    found = digits(s, word, base, drop, levels, bias)
    total = 0
    for level, digit in enumerate(found):
        total = total + digit * (1 << (drop + base * level))
    rounded, _ = s.divide(x + (1 << drop) // 2, 1 << drop)
    half = (1 << base) // 2
    bounded = [every(digit >= -half, digit < half) for digit in found[:-1]]
    s.claim(every(total == rounded * (1 << drop), word >= 0, word < 1 << 63, *bounded))


@proves(
    "Digits::top_bound",
    DIGITS,
    f"q up to 2^60, centred integers; the same {len(SHAPES)} shapes",
    [dict(base=19, drop=0, levels=3, ends=1)],
    SHAPES,
)
def bound_of_the_top_digit(s, base, drop, levels, ends=2):
    half = s.integer("half", 1, 1 << 59)
    x = s.integer("x", -half, half)
    constant = offset(base, drop, levels)
    place = drop + base * (levels - 1)
    low, high, found = [
        s.divide(number + constant, 1 << place)[0] - ((1 << 62) >> place)
        for number in (-half, half, x)
    ]
    # The larger absolute value of both ends.
    sizes = [choose(top < 0, -top, top) for top in (low, high)[:ends]]
    bound = choose(sizes[0] > sizes[-1], sizes[0], sizes[-1])
    s.claim(every(found <= bound, found >= -bound))


@proves(
    "decompose_lazy",
    "crates/kernels/src/portable/gadget.rs",
    "q from 3 to 2^30 - 1, digits below q in absolute value",
    [dict(bound=0)],
)
def lazy_digits(s, bound=1):
    q = s.integer("q", 3, (1 << 30) - 1)
    digit = s.integer("digit", bound - q, q - bound)
    s.claim(every(q + digit > 0, q + digit < 2 * q, 2 * q < 1 << 32))


@proves(
    "gadget::centre",
    "crates/kernels/src/portable/gadget.rs",
    "q from 2 to 2^30 - 1, residues below q",
    [dict(shift=27), dict(strict=1)],
)
def centred_residue(s, shift=31, strict=0):
    q = s.word("q", 32, 2, (1 << 30) - 1)
    residue = s.word("residue", 32, 0, q - 1)
    s.assume(residue < q)
    half = q >> 1
    above = (half - residue - strict).sign_shift(shift)
    found = residue - (q & above)
    s.claim(every(found == centred(residue, q), at_most(found, half)))


@proves(
    "PowerSwitch::down",
    SWITCH,
    "2^k below q below 2^62 for each k from 1 to 61, x below q",
    [dict(bits=20, carry=0), dict(bits=20, largest=1 << 64)],
    [dict(bits=bits) for bits in range(1, 62)],
)
def switch_to_a_power(s, bits, carry=1, largest=1 << 62):
    long = 1 << 64
    scale = 1 << bits
    q = s.integer("q", scale + 1, largest - 1)
    x = s.integer("x", 0, q - 1)
    reciprocal, missing = s.divide(long * scale, q)
    s.nonnegative((x, missing), (q - 1 - x, missing), (q - scale - 1, long))
    s.cancel(q, reciprocal, long)
    estimate, low = s.divide(x * reciprocal, long)
    s.nonnegative((low, q), (long - 1 - low, q), (long - 1 - x, missing), (x, q - missing - 1))
    s.scale(x, reciprocal * q + missing, long * scale)
    s.scale(q, x * reciprocal, estimate * long + low)
    exact = x * scale - estimate * q
    s.step(exact * long == low * q + x * missing)
    s.step(every(exact >= 0, exact < 2 * q))
    _, product = s.divide(x * scale, long)
    _, taken = s.divide(estimate * q, long)
    _, rest = s.divide(product - taken, long)
    s.step(rest == exact)

    more = choose(rest >= q, carry, 0)
    reduced = choose(rest >= q, rest - carry * q, rest)
    up = choose(2 * reduced >= q, 1, 0)
    rounded = estimate + more + up
    # Without products of the conditions: what was subtracted is 0 or q.
    error = choose(2 * reduced >= q, reduced - q, reduced)
    s.claim(
        every(
            reciprocal < long,
            2 * reduced < long,
            reduced >= 0,
            reduced < q,
            2 * error >= -q,
            2 * error < q,
            reduced == exact - choose(rest >= q, carry * q, 0),
            error == reduced - choose(2 * reduced >= q, q, 0),
            rounded >= 0,
        )
    )


@proves(
    "PowerSwitch::up",
    SWITCH,
    "2^k below q below 2^62 for each k from 1 to 61, y below 2^k",
    [dict(bits=20, half=0), dict(bits=20, least_q=0)],
    [dict(bits=bits) for bits in range(1, 62)],
)
def switch_from_a_power(s, bits, half=1, least_q=1):
    scale = 1 << bits
    q = s.integer("q", scale + 1 if least_q else 2, (1 << 62) - 1)
    y = s.integer("y", 0, scale - 1)
    s.nonnegative((y, q), (scale - 1 - y, q), (scale - 1 - y, (1 << 62) - q))
    found, _ = s.divide(y * q + half * (scale // 2), scale)
    error = found * scale - y * q
    s.claim(every(found >= 0, found < q, 2 * error <= scale, 2 * error > -scale))


@proves(
    "mod_switch::switch",
    SWITCH,
    "moduli from 2 to 2^62 - 1, x below the first",
    [dict(ceiling=0), dict(largest=1 << 65)],
)
def switch_between_moduli(s, ceiling=1, largest=1 << 62):
    before = s.integer("from", 2, largest - 1)
    to = s.integer("to", 2, largest - 1)
    x = s.integer("x", 0, before - 1)
    s.nonnegative((x, to), (before - 1 - x, to), (largest - 1 - to, before), (before, to))
    half, _ = s.divide(before, 2)
    total = x * to + half
    s.step(every(total >= 0, total < 1 << 128))
    rounded, _ = s.divide(total, before)
    error = rounded * before - x * to
    s.claim(every(total < 1 << 128, 2 * error <= before * ceiling, 2 * error > -before))
