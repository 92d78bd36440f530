"""Indices in Merkle trees: proofs of logs, and proofs of records."""

from engine import proves
from terms import Word, choose, every

VERIFY = "crates/checkpoint/src/merkle/verify.rs"
TREE = "crates/lookup/src/commitment/tree.rs"
GRID = "crates/lookup/src/grid.rs"


def trailing_zeros(word, width=64):
    """The number of zeros below the lowest one; `width` for zero."""
    count, rest = Word(width, 0), word
    for step in (32, 16, 8, 4, 2, 1):
        empty = rest & ((1 << step) - 1) == 0
        count = choose(empty, count + step, count)
        rest = choose(empty, rest >> step, rest)
    return choose(word == 0, Word(width, width), count)


def bits_of(word, width=64):
    """`BITS - leading_zeros`: the number of bits without leading zeros."""
    count = Word(width, 0)
    for step in (32, 16, 8, 4, 2, 1):
        large = word >> step != 0
        count = choose(large, count + step, count)
        word = choose(large, word >> step, word)
    return count + word


@proves(
    "verify_inclusion, verify_consistency: one sibling",
    VERIFY,
    "all trees of fewer than 2^64 leaves, every position on a path",
    [dict(both=0), dict(right=0)],
)
def path_of_a_leaf(s, both=1, right=1):
    last = s.word("last", 64, 1)
    place = s.word("place", 64, 0, last)
    odd = place & 1 == 1
    left = odd | (place == last) if right else odd
    # The inner loop ends at the first one of `place`, which is below 64 unless `place` is 0.
    zeros = trailing_zeros(place)
    skipped = choose(left & ~odd & (place != 0), zeros, 0)
    above = place >> skipped >> 1
    end = (last >> skipped if both else last) >> 1

    # A left sibling has the index before, a right one the index after: both are in their level.
    level = place >> skipped
    sibling = choose(left, level - 1, level + 1)
    edge = last >> skipped
    s.claim(
        every(
            above <= end,
            end < last,
            (place == 0) | (level != 0),
            choose(left, level & 1 == 1, place & 1 == 0),
            sibling <= edge,
            sibling >> 1 == above,
            edge >> 1 == end,
        )
    )


@proves(
    "verify_inclusion: the length of a proof",
    VERIFY,
    "all trees of fewer than 2^64 leaves",
    [dict(most=63)],
)
def length_of_a_proof(s, most=64):
    last = s.word("last", 64)
    # Each sibling shifts `last` by one place at least, and none follows once it is 0.
    s.claim(every(*([last >> 63 >> 1 == 0] if most == 64 else [last >> most == 0])))


@proves(
    "tree::split",
    "crates/checkpoint/src/merkle/tree.rs",
    "all sizes of 64 bits from 2",
    [dict(less=0)],
)
def split_of_a_tree(s, less=1):
    size = s.word("size", 64, 2)
    left = Word(64, 1) << (bits_of(size - less) - 1)
    s.claim(every(left < size, size - left <= left, left & (left - 1) == 0))


@proves(
    "Frontier::push",
    "crates/checkpoint/src/merkle/frontier.rs",
    "all sizes below 2^64 - 1",
    [dict(extra=1)],
)
def subtrees_of_a_frontier(s, extra=0):
    size = s.word("size", 64, 0, (1 << 64) - 2)
    # A subtree stands for each one of the size. The trailing ones are merged into the bit above
    # them, and the other bits stay.
    merged = trailing_zeros(size ^ ((1 << 64) - 1)) + extra
    pushed = Word(64, 1) << merged
    kept = size & (size + 1)
    s.claim(merged < 64)
    s.claim(every(size == (kept | (pushed - 1)), kept & (pushed - 1) == 0))
    s.claim(every(size + 1 == (kept | pushed), kept & pushed == 0))


@proves(
    "verify_consistency: the start",
    VERIFY,
    "all pairs of sizes below 2^64",
    [dict(less=0)],
)
def start_of_a_consistency_proof(s, less=1):
    size = s.word("size", 64, 2)
    old = s.word("old", 64, 1, size - 1)
    shift = trailing_zeros((old - less) ^ ((1 << 64) - 1))
    place = (old - less) >> shift
    last = (size - 1) >> shift
    # The subtree of 2^shift leaves ends where the old tree ends.
    ends = (place + 1) << shift
    alone = old & (old - 1) == 0
    s.claim(every(place <= last, ends == old, alone | (place != 0), ~alone | (place == 0)))


@proves(
    "tree::depth",
    TREE,
    "all numbers of records from 1",
    [dict(less=0)],
)
def depth_of_a_record_tree(s, less=1):
    records = s.word("records", 64, 1)
    depth = bits_of(records - less)
    top = Word(128, 1) << depth.widened(128)
    s.claim(every(records.widened(128) <= top, (depth == 0) | (top >> 1 < records.widened(128))))


@proves(
    "RecordTree::write_proof",
    TREE,
    "2^40 records at most, every index, every level",
    [dict(round_up=0), dict(flip=2)],
)
def sibling_of_a_node(s, round_up=1, flip=1):
    records = s.word("records", 64, 2, 1 << 40)
    index = s.word("index", 64, 0, records - 1)
    level = s.word("level", 64, 0, 39)
    nodes = (records + ((Word(64, 1) << level) - 1) * round_up) >> level
    node = index >> level
    s.assume(nodes > 1)
    sibling = node ^ flip
    # A sibling beyond the level is the one after its last node, which has an even index.
    s.claim(
        every(
            node < nodes,
            sibling <= nodes,
            (sibling < nodes) | every(node + 1 == nodes, node & 1 == 0),
            sibling >> 1 == node >> 1,
        )
    )


@proves(
    "Grid::region, pilot, pilot_slot, record",
    GRID,
    "regions, buckets and pilots with products below 2^32, as `Layout::check_grid` requires",
    [dict(shift=63), dict(most=1 << 33)],
)
def slots_of_a_grid(s, shift=64, most=(1 << 32) - 1):
    regions = s.integer("regions", 1, (1 << 32) - 1)
    pilots = s.integer("pilots", 1, (1 << 32) - 1)
    s.assume(regions * pilots <= most)
    high = s.integer("high", 0, (1 << 64) - 1)
    low = s.integer("low", 0, (1 << 64) - 1)
    size = 1 << shift
    region, _ = s.divide(high * regions, size)
    pilot, _ = s.divide(low * pilots, size)
    s.nonnegative(((1 << 64) - 1 - high, regions), (high, regions))
    s.nonnegative(((1 << 64) - 1 - low, pilots), (low, pilots))
    s.step(every(region >= 0, region < regions, pilot >= 0, pilot < pilots))
    s.nonnegative((regions - 1 - region, pilots), (region, pilots))
    slot = region * pilots + pilot
    s.claim(every(region < regions, pilot < pilots, slot < regions * pilots, slot < 1 << 32))
