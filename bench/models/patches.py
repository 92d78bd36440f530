#!/usr/bin/env python3
"""Bytes of patches of public parts (docs/decisions/0060-patches-of-public-parts.md).

Prints, for 1 GiB, what a client fetches after 1 % of the records changed in one run, with layouts
that fill rows first, and the lengths of lists of block hashes. Standard library only.
"""

import math

GIB = 1 << 30
# Bytes before the hint in a bundle of `simple`: of bundle, envelope, parameters and their length,
# and seed.
BEFORE_HINT = 16 + 24 + 8 + 24 + 32
# Bytes after the public part: checksum of the envelope, length of the layout, checksum.
AFTER = 8 + 8 + 8
HEADER = 16


def block_bytes(length):
    """Returns the least power of two from 1,024 on whose square is at least 8 times the length."""
    block = 1024
    while block * block < 8 * length:
        block *= 2
    return block


def list_bytes(length):
    """Returns the length of a list of block hashes."""
    return HEADER + 32 * -(-length // block_bytes(length))


def patch_bytes(length, ranges):
    """Returns the bytes of the list, and those of the blocks that the changed ranges touch."""
    block = block_bytes(length)
    touched = set()
    for first, end in ranges:
        touched.update(range(first // block, (end - 1) // block + 1))
    return list_bytes(length), sum(min(block, length - i * block) for i in touched)


def simple_shape(record):
    """Returns units of a column and columns, as `SimpleParams::choose` weighs them (balanced).

    The program compares some of these heights only, so that it may choose a neighbour."""
    units = GIB // record
    row = 9 / 8 + 4096 / 1000

    def cost(height):
        return 4 * -(-units // height) + row * height * record

    ideal = math.sqrt(units * 4 / (record * row))
    heights = range(max(1, int(ideal / 2)), int(ideal * 2) + 2)
    fitting = [h for h in heights if h * record <= 1 << 21 and -(-units // h) <= 1 << 16]
    height = min(fitting, key=cost)
    return height, -(-units // height)


def simple(record):
    """Returns hint, bands, and the least and the most bytes of a patch and of the rows alone."""
    bands, columns = simple_shape(record)
    hint = bands * record * 4096
    length = BEFORE_HINT + hint + AFTER
    changed = GIB // record // 100

    results = []
    # Runs all over the database, and one that begins at a band's end.
    starts = [*range(0, GIB // record - changed, max(1, columns // 7)), columns - 1]
    for start in starts:
        first = start // columns
        last = (start + changed - 1) // columns
        rows = (last - first + 1) * record * 4096
        begin = BEFORE_HINT + first * record * 4096
        ranges = [(0, 32), (begin, begin + rows), (length - AFTER - 8, length)]
        results.append((sum(patch_bytes(length, ranges)), rows))
    return hint, bands, columns, min(results), max(results)


def packs(count, changed):
    """Returns bytes of masks of changed packs of `inspire1`, of the list, and of the blocks (least
    and most)."""
    mask = 2048 * 14 // 8
    before = 16 + 24 + 8 + 32 + 32
    length = before + count * mask + AFTER

    blocks = []
    for first in range(count - changed + 1):
        begin = before + first * mask
        ranges = [(0, 32), (begin, begin + changed * mask), (length - AFTER - 8, length)]
        blocks.append(patch_bytes(length, ranges)[1])
    return changed * mask, list_bytes(length), min(blocks), max(blocks)


def main():
    print("simple, 1 % in one run, rows first")
    for record in (64, 256, 1024, 2048, 4096, 8192):
        hint, bands, columns, least, most = simple(record)
        of = " to ".join(f"{100 * one[0] / hint:.1f} %" for one in (least, most))
        print(f"  {record:5} B: hint {hint / 2**20:.1f} MiB, {bands} bands of {columns} records,"
              f" rows {least[1]:,} to {most[1]:,}, patch {least[0]:,} to {most[0]:,} B ({of})")

    print("inspire1, rows first")
    for count, changed in ((16, 1), (16, 2), (32, 1)):
        exact, listed, least, most = packs(count, changed)
        print(f"  {changed} of {count} packs: masks {exact:,}, list {listed:,},"
              f" blocks {least:,} to {most:,}")

    print("lists")
    for length in (57_480, 114_824, 7 << 20, 112 << 20, 1 << 30, 4 << 30):
        print(f"  {length:,} B: blocks of {block_bytes(length):,}, list {list_bytes(length):,}")

    print("words of scattered changes, 1 % of 64 B records, 9 bits a byte and 2 bytes a record")
    records = GIB // 64 // 100
    print(f"  {records * (64 + 8 + 2):,} B of a hint of {simple(64)[0]:,}")
    bands = simple_shape(64)[0]
    for count in (10, 100, 1000):
        rows = 1 - (1 - 1 / bands) ** count
        print(f"  {count} scattered records change {100 * rows:.0f} % of rows")


if __name__ == "__main__":
    main()
