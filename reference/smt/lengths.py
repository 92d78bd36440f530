"""Lengths that parsers read: sums that do not wrap, ranges that stay inside, loops that end."""

from engine import proves
from terms import Word, choose, every, implies

LONG = 1 << 64
CODEC = "crates/core/src/codec.rs"
ENVELOPE = "crates/core/src/envelope.rs"
DIVISION = "crates/core/src/division.rs"
VARINT = "crates/lookup/src/outside/varint.rs"
FILTER = "crates/lookup/src/psi/filter.rs"
BUCKET = "crates/lookup/src/bucket.rs"


@proves(
    "Reader::raw",
    CODEC,
    "any length and position of 64 bits, any count of 64 bits",
    [dict(saturating=False, ordered=False)],
)
def read_stays_inside(s, saturating=True, ordered=True):
    length = s.word("length", 64)
    position = s.word("position", 64, 0, length)
    count = s.word("count", 64)
    total = position + count
    end = choose(total < position, LONG - 1, total) if saturating else total
    # `get` accepts the range if it ends within the bytes. Nobody has 2^64 - 1 of them.
    s.assume(length < LONG - 1)
    accepted = every(end <= length, position <= end) if ordered else end <= length
    enough = count <= length - position
    s.claim(implies(accepted, enough))
    s.claim(implies(enough, every(accepted, end - position == count)))


@proves(
    "envelope::first_length, envelope::payload",
    ENVELOPE,
    "any stated length of 64 bits, any number of bytes of 64 bits",
    [dict(checked=False), dict(header=23)],
)
def payload_of_an_envelope(s, checked=True, header=24):
    stated = s.word("stated", 64)
    length = s.word("length", 64, 24)
    total = stated + 32
    s.assume(total >= stated if checked else total <= LONG - 1)
    s.assume(total == length)
    start, end = Word(64, header), length - 8
    s.claim(every(start <= end, end <= length, end - start == stated))


@proves(
    "envelope::split",
    ENVELOPE,
    "any stated length of 64 bits",
    [dict(checked=False)],
)
def envelopes_end(s, checked=True):
    stated = s.word("stated", 64)
    remaining = s.word("remaining", 64, 1)
    first = stated + 32
    s.assume(first >= stated if checked else first <= LONG - 1)
    s.assume(first <= remaining)
    s.claim(every(remaining - first < remaining, first >= 32))


def encoded(number):
    """`Varint::of`: the bytes, of which the first `length` count, and the length."""
    parts, length = [], Word(64, 1)
    for place in range(10):
        rest = number >> (7 * place)
        more = rest >= 0x80
        parts.append((rest & 0xFF) | choose(more, Word(64, 0x80), 0))
        length = choose(more, Word(64, place + 2), length)
    return [part & 0xFF for part in parts], length


@proves(
    "Varint::of, varint::read",
    VARINT,
    "every number of 64 bits",
    [dict(mask=0x3F), dict(places=9)],
)
def variable_length_numbers_come_back(s, mask=0x7F, places=10):
    number = s.word("number", 64)
    parts, length = encoded(number)
    found, used, open_ = Word(64, 0), Word(64, 0), Word(64, 1)
    for place in range(places):
        part = parts[place]
        found = choose(open_ == 1, found | (part & mask) << (7 * place), found)
        used = choose(open_ == 1, Word(64, place + 1), used)
        open_ = choose(part < 0x80, 0, open_)
    s.claim(every(found == number, used == length, length <= 10, open_ == 0))


@proves(
    "varint::read_field",
    VARINT,
    "any run, offset and stated length of 64 bits",
    [dict(checked=False)],
)
def field_in_a_run(s, checked=True):
    run = s.word("run", 64)
    start = s.word("start", 64, 0, run)
    length = s.word("length", 64)
    end = start + length
    s.assume(end >= start if checked else end <= LONG - 1)
    s.assume(end <= run)
    s.claim(every(start <= end, end <= run, end - start == length))


@proves(
    "Filter::decode",
    FILTER,
    "any count of 64 bits, any number of bytes below 2^61",
    [dict(each=0), dict(false_log2=65)],
)
def values_of_a_filter(s, each=1, false_log2=40):
    count = s.integer("count", 0, LONG - 1)
    log2 = s.integer("log2", 0, 64)
    bits = log2 + false_log2 + 20
    rice = bits - log2
    code = s.integer("code", 0, (1 << 61) - 1)
    s.nonnegative((count, rice))
    s.assume(count * ((rice + each) if each else 0) <= 8 * code)
    # Widths of shifts of 128-bit words, and the size of the vector.
    s.claim(every(bits <= 124, bits < 128, rice >= 1, count * 61 <= 8 * code))


@proves(
    "BitReader::rice",
    FILTER,
    "bits from 60 to 124, rice 60, any unary part",
    [dict(bound=64)],
)
def code_of_a_difference(s, bound=1):
    bits = s.word("bits", 192, 60, 124)
    unary = s.word("unary", 192)
    low = s.word("low", 192, 0, (1 << 60) - 1)
    s.assume(unary >> (bits - 60) <= bound)
    value = unary << 60 | low
    one = Word(192, 1)
    s.assume(unary < one << 65)
    s.claim(every(value < one << 128, value >> bits <= 1, value >> 60 == unary))


@proves(
    "Division::split",
    DIVISION,
    "slices below 2^32, shards up to the slices",
    [dict(round_up=1), dict(allow_more=1)],
)
def shards_of_slices(s, round_up=0, allow_more=0):
    slices = s.integer("slices", 1, (1 << 32) - 1)
    shards = s.integer("shards", 1, slices + allow_more)
    i = s.integer("i", 0, shards - 1)
    s.nonnegative((shards - 1 - i, slices), (i, slices))
    s.nonnegative((slices - shards, slices), ((1 << 32) - 1 - slices, slices))
    start, low = s.divide(i * slices, shards)
    end, high = s.divide((i + 1) * slices + round_up, shards)
    mean, rest = s.divide(slices, shards)
    length = end - start
    # length * shards = slices + low - high.
    s.scale(shards, length, end - start)
    difference = length - mean
    s.step(difference * shards == rest + low - high + round_up)
    s.cancel(shards, difference, 2)
    s.cancel(shards, -1, difference)
    s.cancel(shards, 0, mean)
    s.cancel(shards, end, slices + 1)
    s.claim(
        every(
            (i + 1) * slices < LONG,
            start < end,
            end <= slices,
            difference >= 0,
            difference <= 1,
        )
    )


@proves(
    "Division::words_of",
    DIVISION,
    "words and words of a slice below 2^63, ranges up to the last slice",
    [dict(round_up=0), dict(largest=1 << 65)],
)
def words_of_slices(s, round_up=1, largest=1 << 63):
    words = s.integer("words", 1, largest - 1)
    each = s.integer("each", 1, largest - 1)
    slices, _ = s.divide(words + round_up * (each - 1), each)
    start = s.integer("start", 0, slices - 1)
    end = s.integer("end", start + 1, slices)
    s.nonnegative((slices - end, each), (end - start - 1, each))
    s.nonnegative((start, each), (slices - 1 - start, each))
    first = choose(words < start * each, words, start * each)
    after = choose(words < end * each, words, end * each)
    s.claim(
        every(
            end * each < LONG,
            first < after,
            after <= words,
            implies(end == slices, after == words) if round_up else after == words,
        )
    )


@proves(
    "EntryFormat::split",
    BUCKET,
    "any bucket, tags of 4 to 8 bytes, length fields of up to 8 bytes, any stated length",
    [dict(limit=0), dict(least_tag=0)],
)
def entry_of_a_bucket(s, limit=1, least_tag=4):
    tag = s.word("tag_bytes", 64, least_tag, 8)
    field = s.word("length_bytes", 64, 0, 8)
    chunk = s.word("chunk", 64, 0, (1 << 32) - 1)
    length = s.word("length", 64)
    stated = s.word("stated", 64)
    header = tag + field
    s.assume(header <= length)
    body = length - header
    end = choose(stated < chunk, stated, chunk) if limit else stated
    s.assume(end <= body)
    rest = body - end
    s.claim(every(rest < length, header + end + rest == length, end <= chunk))


@proves(
    "EntryFormat::tag",
    BUCKET,
    "any tag of 64 bits, tags of 4 to 8 bytes",
    [dict(least_value=0), dict(least_tag=0, least_value=1, strict=1)],
)
def stored_tag(s, least_value=1, least_tag=4, strict=0):
    size = s.word("tag_bytes", 64, least_tag, 8)
    tag = s.word("tag", 64)
    shift = (Word(64, 8) - size) << 3
    mask = Word(64, LONG - 1) >> shift
    low = tag & mask
    found = choose(low < least_value, Word(64, least_value), low)
    s.claim(every(shift < 64, found != 0, found & mask == found, found >> 1 <= mask >> 1))


@proves(
    "Dimensions::chunked",
    "crates/lookup/src/dimensions.rs",
    "buckets from 64 bytes to 256 KiB, values up to 64 KiB, headers up to 16 bytes",
    [dict(round_up=0), dict(least_bucket=8)],
)
def chunks_of_a_value(s, round_up=1, least_bucket=64):
    bucket = s.integer("bucket", least_bucket, 1 << 18)
    header = s.integer("header", 8, 16)
    longest = s.integer("longest", 1, 1 << 16)
    room = bucket - header
    # `div_ceil` divides by the room: a room of zero or less panics or wraps.
    positive = room > 0
    divisor = choose(positive, room, 1)
    lookups, _ = s.divide(longest + round_up * (divisor - 1), divisor)
    s.nonnegative((lookups, divisor))
    s.cancel(divisor, 0, lookups)
    number = choose(lookups >= 1, lookups, 1)
    chunk, _ = s.divide(longest + round_up * (number - 1), number)
    s.cancel(number, chunk, divisor + 1)
    s.claim(every(positive, lookups >= 1, chunk * number >= longest, chunk <= divisor))
