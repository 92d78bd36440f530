"""Bit packing, records of any number of bits, and rounding of words."""

from engine import proves
from terms import Word, choose, every

BITS = "crates/kernels/src/portable/bits.rs"
RECORDS = "crates/core/src/records.rs"
WORDS = "crates/lattice/src/lwe32/words.rs"


def ones(width, bits=64):
    """The mask of `width` low bits, for a width of 1 to `bits`."""
    return Word(bits, (1 << bits) - 1) >> (Word(bits, bits) - width)


def double(word):
    return word.widened(128)


@proves(
    "pack, one value",
    BITS,
    "every width from 1 to 64, every number of filled bits, any value of 64 bits",
    [dict(shift=0), dict(full=65)],
)
def packing_of_a_value(s, shift=1, full=64):
    width = s.word("width", 64, 1, 64)
    filled = s.word("filled", 64, 0, 63)
    before = s.word("before", 64, 0, (Word(64, 1) << filled) - 1)
    value = s.word("value", 64)

    low = value & ones(width)
    word = before | low << filled
    reached = filled + width
    carried = choose(reached >= full, reached - 64, 0)
    rest = low >> shift >> (width - 1 - carried)
    # Both words together are the old bits and, above them, the value.
    upper = choose(reached >= full, rest, 0)
    both = double(word) | double(upper) << 64
    left = choose(reached >= full, carried, reached)
    open_word = choose(reached >= full, rest, word)
    s.claim(
        every(
            both == (double(before) | double(low) << double(filled)),
            left < 64,
            open_word >> left == 0,
        )
    )


@proves(
    "unpack, one value",
    BITS,
    "every width from 1 to 64, every number of bits left, any two words",
    [dict(bits=33, shift=0), dict(bits=33, used=0)],
    [dict(bits=bits) for bits in range(1, 65)],
)
def unpacking_of_a_value(s, bits, shift=1, used=1):
    width = Word(64, bits)
    left = s.word("left", 64, 0, 63)
    word = s.word("word", 64, 0, (Word(64, 1) << left) - 1)
    following = s.word("following", 64)

    enough = left >= width
    found = choose(enough, word, word | following << left) & ones(width)
    rest = choose(
        enough,
        word >> 1 >> (width - 1),
        following >> shift >> (width - left - used),
    )
    remaining = choose(enough, left - width, left + 64 - width)
    # The bits that are left and the next word, as one number.
    stream = double(word) | double(following) << double(left)
    after = choose(enough, double(rest) | double(following) << double(remaining), double(rest))
    s.claim(
        every(
            double(found) == (stream & double(ones(width))),
            after == stream >> double(width),
            remaining < 64,
            rest >> remaining == 0,
        )
    )


def packed(values, width):
    """`pack` of values whose bits fit three words: the words."""
    words, word, filled = [], Word(64, 0), 0
    for value in values:
        low = value & ones(Word(64, width))
        word = word | low << filled
        filled += width
        if filled >= 64:
            words.append(word)
            filled -= 64
            word = low >> 1 >> (width - 1 - filled)
    return [*words, word]


def unpacked(words, width, count):
    """`unpack` of words."""
    words = iter([*words, Word(64, 0)])
    word, left, found = Word(64, 0), 0, []
    mask = ones(Word(64, width))
    for _ in range(count):
        if left >= width:
            found.append(word & mask)
            left -= width
            word = word >> 1 >> (width - 1)
        else:
            following = next(words)
            found.append((word | following << left) & mask)
            word = following >> 1 >> (width - left - 1)
            left += 64 - width
    return found


@proves(
    "pack, then unpack",
    BITS,
    "three values of 64 bits, each width from 1 to 64",
    [dict(width=33, wrong=1)],
    [dict(width=width) for width in range(1, 65)],
)
def packed_values_come_back(s, width, wrong=0):
    values = [s.word(name, 64) for name in "abc"]
    found = unpacked(packed(values, width), width - wrong, 3)
    s.claim(every(*(a == (b & ones(Word(64, width))) for a, b in zip(found, values))))


@proves(
    "packed_len",
    "crates/kernels/src/bits.rs",
    "counts of 64 bits, widths from 1 to 64, a usize of 64 bits",
    [dict(round_up=6), dict(most=(1 << 64))],
)
def packed_length(s, round_up=7, most=(1 << 64) - 1):
    count = s.integer("count", 0, (1 << 64) - 1)
    width = s.integer("width", 1, 64)
    s.nonnegative((count, width), (count, 64 - width))
    bits = s.defined("bits", lambda: (count * width).value)
    s.assume(bits == count * width)
    s.step(every(bits >= 0, bits < 1 << 70))
    length, _ = s.divide(bits + round_up, 8)
    found = choose(length > most, (1 << 64) - 1, length)
    exact = found * 8
    s.claim(
        every(
            found < 1 << 64,
            (found == (1 << 64) - 1) | every(exact >= bits, exact < bits + 8),
        )
    )


@proves(
    "bits::check",
    "crates/kernels/src/bits.rs",
    "counts of 64 bits, widths from 1 to 64, any last byte",
    [dict(modulus=16), dict(shift=7)],
)
def padding_bits(s, modulus=8, shift=8):
    count = s.word("count", 64, 1)
    width = s.word("width", 32, 1, 64)
    last = s.word("last", 8)
    bits = double(count) * width.widened(128)
    padding = bits.negated().low(32) & (modulus - 1)
    found = (last.widened(32) << padding >> shift).low(8)
    # The bits of the last byte that hold values: 1 to 8.
    used = ((bits + 127) & 7).low(8) + 1
    empty = last >> used == 0
    s.claim(every(padding == Word(32, 8) - used.widened(32), choose(found == 0, empty, ~empty)))


@proves(
    "extract_bits, mask_tail",
    RECORDS,
    "a byte of a record: any three bytes of the source, every bit offset, 1 to 8 wanted bits",
    [dict(width=14), dict(extra=1)],
)
def extracted_byte(s, width=16, extra=0):
    source = s.word("source", 24)
    shift = s.word("shift", 24, 0, 7)
    wanted = s.word("wanted", 24, 1, 8)
    pair = source & ((1 << width) - 1)
    byte = pair >> shift & 0xFF
    mask = (Word(24, 1) << (wanted + extra)) - 1
    s.claim((byte & mask) == (source >> shift & ((Word(24, 1) << wanted) - 1)))


@proves(
    "RecordBuffer::set, one bit",
    RECORDS,
    "any byte, any bit, any place",
    [dict(clear=0)],
)
def stored_bit(s, clear=1):
    byte = s.word("byte", 8)
    place = s.word("place", 8, 0, 7)
    other = s.word("other", 8, 0, 7)
    value = s.word("value", 8, 0, 1)
    one = Word(8, 1) << place
    found = (byte & (one ^ (0xFF if clear else 0))) | value << place
    s.claim(
        every(
            found >> place & 1 == value,
            (other == place) | (found >> other & 1 == byte >> other & 1),
        )
    )


@proves(
    "check_read, copy_packed",
    RECORDS,
    "all shapes of at most 2^40 records and 2^21 bits, reads of any 64-bit range",
    [dict(records=1 << 43), dict(saturating=False)],
)
def packed_reads_stay_inside(s, records=1 << 40, saturating=True):
    total = s.integer("total", 1, records)
    bits = s.integer("bits", 1, 1 << 21)
    limit = (1 << 64) - 1
    first = s.integer("first", 0, limit)
    count = s.integer("count", 0, limit)
    _, wrapped = s.divide(first + count, 1 << 64)
    end = choose(first + count > limit, limit if saturating else wrapped, first + count)
    s.assume(end <= total)
    s.nonnegative((total, bits), (records - total, bits), (total - first - count, bits))
    s.nonnegative((first, bits), (count, bits), ((1 << 21) - bits, records))
    product = s.defined("product", lambda: (first * bits).value)
    s.assume(product == first * bits)
    start, rest = s.divide(product, 8)
    s.assume(rest == 0)
    length, _ = s.divide(count * bits + 7, 8)
    whole, _ = s.divide(total * bits + 7, 8)
    s.claim(every(first * bits < 1 << 64, count * bits < 1 << 64, start + length <= whole))


@proves(
    "words::round, words::round_random_ties",
    WORDS,
    "any word of 32 bits, 0 to 31 dropped bits, either tie",
    [dict(half=0), dict(down=2)],
)
def rounded_word(s, half=1, down=1):
    word = s.word("word", 32)
    dropped = s.word("dropped", 32, 0, 31)
    tie = s.word("tie", 32)
    lower = (tie & 1) & choose(dropped > 0, Word(32, 1), 0)
    unit = Word(32, 1) << dropped
    middle = unit >> 1
    up = (word + middle * half) >> dropped
    either = (word + middle - lower * down) >> dropped
    # The errors modulo 2^32, moved so that no sign is needed.
    error = (up << dropped) - word + middle
    other = (either << dropped) - word + middle
    s.claim(every(error <= middle + middle, other <= middle + middle))
    s.claim((up == either) | (other == 0))


@proves(
    "words::decode",
    WORDS,
    "any word of 32 bits, Delta from 2 to 2^31",
    [dict(off=1)],
)
def decoded_word(s, off=0):
    phase = s.word("phase", 32)
    log2 = s.word("log2", 32, 1, 31)
    half = Word(32, 1) << (log2 - 1)
    shifted = phase + half + off
    factor = shifted >> log2
    rest = shifted & (half + half - 1)
    distance = choose(rest > half, rest - half, half - rest)
    nearest = factor << log2
    s.claim(every(distance <= half, (phase - nearest == distance) | (nearest - phase == distance)))
