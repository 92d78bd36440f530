#!/usr/bin/env python3
"""A model of the scheme of decision 59, and of what the decision says about others.

    python3 bench/models/stream_once.py            all checks, then the table of sizes
    python3 bench/models/stream_once.py --sizes    the table alone

It checks, with the standard library only and within seconds:

- the shuffle by digits gives each permutation with the same probability (exact, by enumeration);
- requests are uniform and independent of lookups and of each other (exact, by enumeration);
- lookups return the right records, with repeated and hot records, lost answers, answers of a later
  version, changes between and during lookups, and batches that are settled in order;
- altered answers are found, unless the altered record does not count;
- chains of relocations are as short as the decision says (simulation);
- the request of HarmonyPIR's Algorithm 3 depends on the index (exact, by enumeration), and how far
  that goes in a whole run (simulation);
- lookups without a hint in RMS24 occur as often as its formula says (simulation).

Times are not modelled. The scheme itself would have vector code and ChaCha20; here all randomness
of the table comes from SHAKE-128.
"""

import argparse
import hashlib
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

EMPTY = -1
TAG_BYTES = 8


# The table: rows of cells, each row under a permutation of its own.


@dataclass(frozen=True)
class Shape:
    """The public numbers of a table."""

    rows: int  # T: records in a request
    row_records: int  # B: records of a row
    lookups: int  # Q: lookups for one stream, and empty cells of a row
    record_bytes: int = 8

    @property
    def columns(self) -> int:
        """M: cells of a row, and hints."""
        return self.row_records + self.lookups

    @property
    def records(self) -> int:
        """N."""
        return self.rows * self.row_records


def keystream(seed: bytes, label: str, row: int) -> Iterator[int]:
    """Bytes of a stream of its own for each label and row."""
    name = seed + label.encode() + row.to_bytes(8, "little")
    for block in itertools.count():
        yield from hashlib.shake_128(name + block.to_bytes(8, "little")).digest(1024)


def below(stream: Iterator[int], bound: int) -> int:
    """A uniform number below `bound`, from 32-bit words, by rejection."""
    limit = (1 << 32) - (1 << 32) % bound
    while True:
        word = int.from_bytes(bytes(next(stream) for _ in range(4)), "little")
        if word < limit:
            return word % bound


class Permutation:
    """A permutation of a row: value → column, shuffled by digits.

    Each value draws a digit. Values are grouped by digit, in order, and each group is shuffled in
    the same way, or directly if it is short. To evaluate one point, only the digits and the groups
    on its path are drawn again. A real client also keeps counts of the first digits at checkpoints,
    so that it draws one block of them.
    """

    def __init__(self, seed: bytes, row: int, size: int, groups: int, leaf: int) -> None:
        self.seed, self.row, self.size, self.groups, self.leaf = seed, row, size, groups, leaf

    def digits(self, path: str, length: int) -> list[int]:
        stream = keystream(self.seed, "digits" + path, self.row)
        return [next(stream) % self.groups for _ in range(length)]

    def shuffled(self, path: str, length: int) -> list[int]:
        """Place in a short group → rank of its value."""
        stream = keystream(self.seed, "group" + path, self.row)
        order = list(range(length))
        for place in range(length - 1, 0, -1):
            other = below(stream, place + 1)
            order[place], order[other] = order[other], order[place]
        return order

    def column(self, value: int) -> int:
        path, first, rank, length = "", 0, value, self.size
        while length > self.leaf:
            digits = self.digits(path, length)
            group = digits[rank]
            first += sum(digit < group for digit in digits)
            rank, length = digits[:rank].count(group), digits.count(group)
            path += f"/{group}"
        return first + self.shuffled(path, length).index(rank)

    def value(self, column: int) -> int:
        path, place, length = "", column, self.size
        levels: list[tuple[list[int], int]] = []
        while length > self.leaf:
            digits = self.digits(path, length)
            counts = [digits.count(group) for group in range(self.groups)]
            group = 0
            while place >= counts[group]:
                place -= counts[group]
                group += 1
            levels.append((digits, group))
            path, length = path + f"/{group}", counts[group]
        rank = self.shuffled(path, length)[place]
        for digits, group in reversed(levels):
            rank = [at for at, digit in enumerate(digits) if digit == group][rank]
        return rank

    def arranged(self, values: list[int], path: str) -> list[int]:
        """The values of a group in the order of their columns."""
        if len(values) <= self.leaf:
            return [values[rank] for rank in self.shuffled(path, len(values))]
        members: list[list[int]] = [[] for _ in range(self.groups)]
        for value, digit in zip(values, self.digits(path, len(values)), strict=True):
            members[digit].append(value)
        parts = (self.arranged(part, f"{path}/{group}") for group, part in enumerate(members))
        return list(itertools.chain.from_iterable(parts))

    def all(self) -> list[int]:
        """Column of each value, as the client computes it while a row streams by."""
        columns = [0] * self.size
        for column, value in enumerate(self.arranged(list(range(self.size)), "")):
            columns[value] = column
        return columns


class History:
    """The columns that lookups used, in order: the only part of the table that changes."""

    def __init__(self) -> None:
        self.used: list[int] = []
        self.number: dict[int, int] = {}

    def use(self, column: int) -> int:
        """Uses up a column; returns the number of the lookup."""
        assert column not in self.number, "a column is used once"
        self.number[column] = len(self.used)
        self.used.append(column)
        return len(self.used) - 1


class Row:
    """Contents of a row after relocations. `to` and `back` are the permutation and its inverse."""

    def __init__(self, row_records: int, to: list[int], history: History) -> None:
        self.row_records, self.to, self.history = row_records, to, history
        self.back = [0] * len(to)
        for value, column in enumerate(to):
            self.back[column] = value
        self.longest = 0

    def content(self, column: int) -> int:
        """The record in an unused column; EMPTY if there is none."""
        while True:
            value = self.back[column]
            if value < self.row_records:
                return value
            lookup = value - self.row_records
            if lookup >= len(self.history.used):
                return EMPTY
            column = self.history.used[lookup]

    def place(self, record: int, start: int | None = None, pending: Iterable[int] = ()) -> int:
        """The column of a record, followed from its first column, or from a later one.

        With `pending`, stops at a column whose lookup is not settled: there its value still counts.
        """
        column = self.to[record] if start is None else start
        steps = 0
        while (lookup := self.history.number.get(column)) is not None and lookup not in pending:
            column = self.to[self.row_records + lookup]
            steps += 1
        self.longest = max(self.longest, steps)
        return column


# The client and the server.


def xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


@dataclass
class Pending:
    """A lookup whose answer has not come: durable before its request is sent."""

    column: int
    row: int
    index: int
    request: list[int]
    contents: list[int]


@dataclass
class Client:
    shape: Shape
    seed: bytes
    rng: random.Random
    groups: int = 4
    leaf: int = 8
    hints: list[bytes] = field(default_factory=list)
    tags: list[bytes] = field(default_factory=list)
    pending: dict[int, Pending] = field(default_factory=dict)
    last_use: dict[int, int] = field(default_factory=dict)
    damaged: bool = False

    def __post_init__(self) -> None:
        self.history = History()
        self.rows = [self.make_row(row) for row in range(self.shape.rows)]

    def make_row(self, row: int) -> Row:
        permutation = Permutation(self.seed, row, self.shape.columns, self.groups, self.leaf)
        return Row(self.shape.row_records, permutation.all(), self.history)

    def tag(self, index: int, record: bytes) -> bytes:
        return hashlib.blake2b(
            index.to_bytes(8, "little") + record, key=self.seed, digest_size=TAG_BYTES
        ).digest()

    def index(self, row: int, offset: int) -> int:
        return row * self.shape.row_records + offset

    def add(self, column: int, index: int, record: bytes) -> None:
        """Adds a record to a column, or removes it."""
        self.hints[column] = xor(self.hints[column], record)
        self.tags[column] = xor(self.tags[column], self.tag(index, record))

    def stream(self, records: Iterable[bytes]) -> None:
        self.hints = [bytes(self.shape.record_bytes)] * self.shape.columns
        self.tags = [bytes(TAG_BYTES)] * self.shape.columns
        for index, record in enumerate(records):
            row, offset = divmod(index, self.shape.row_records)
            self.add(self.rows[row].to[offset], index, record)

    def find(self, row: int, offset: int) -> int:
        """The column of a record. Its own lookups are skipped, so that hot records cost no more."""
        last = self.last_use.get(self.index(row, offset))
        return self.rows[row].place(offset, None if last is None else self.history.used[last])

    def dummy(self) -> list[int]:
        """A request without a lookup. It has the distribution of all requests."""
        return [self.rng.randrange(self.shape.row_records) for _ in range(self.shape.rows)]

    def request(self, index: int) -> tuple[int, list[int]]:
        row, offset = divmod(index, self.shape.row_records)
        column = self.find(row, offset)
        contents = [each.content(column) for each in self.rows]
        assert contents[row] == offset

        request = self.dummy()
        for at, content in enumerate(contents):
            if at != row and content != EMPTY:
                request[at] = content

        lookup = self.history.use(column)
        self.last_use[index] = lookup
        self.pending[lookup] = Pending(column, row, index, request, contents)
        return lookup, request

    def settle(self, lookup: int, answer: list[bytes]) -> bytes | None:
        """The record of a lookup; None if the answer was altered. Lookups settle in order."""
        assert lookup == min(self.pending), "earlier lookups settle first"
        waiting = self.pending[lookup]
        record, tag = self.hints[waiting.column], self.tags[waiting.column]
        known: list[tuple[int, bytes]] = []
        for at, content in enumerate(waiting.contents):
            if at != waiting.row and content != EMPTY:
                index = self.index(at, content)
                known.append((at, answer[at]))
                record, tag = xor(record, answer[at]), xor(tag, self.tag(index, answer[at]))

        if self.tag(waiting.index, record) != tag:
            self.damaged = True
            return None

        del self.pending[lookup]
        for at, value in [*known, (waiting.row, record)]:
            content = waiting.contents[at]
            # The new column may have been used by a lookup that is pending: there it counts.
            to = self.rows[at].place(content, waiting.column, self.pending)
            self.add(to, self.index(at, content), value)
        return record

    def patch(self, index: int, old: bytes, new: bytes) -> None:
        row, offset = divmod(index, self.shape.row_records)
        column = self.rows[row].place(offset, None, self.pending)
        self.add(column, index, old)
        self.add(column, index, new)


def answer(shape: Shape, records: list[bytes], request: list[int]) -> list[bytes]:
    """The server: T reads."""
    return [records[row * shape.row_records + offset] for row, offset in enumerate(request)]


# Checks of the scheme.


def check_shuffle() -> str:
    """Every permutation of 5 values by digits to the base 3 has probability 1/120.

    Groups are shuffled uniformly, so the same holds for any number of levels, by induction.
    """
    size, groups = 5, 3
    weights: Counter[tuple[int, ...]] = Counter()
    scale = math.factorial(size)
    for digits in itertools.product(range(groups), repeat=size):
        members = [[v for v in range(size) if digits[v] == g] for g in range(groups)]
        orders = math.prod(math.factorial(len(values)) for values in members)
        for chosen in itertools.product(*(itertools.permutations(v) for v in members)):
            weights[tuple(itertools.chain(*chosen))] += scale // orders
    assert len(weights) == math.factorial(size)
    assert set(weights.values()) == {groups**size}

    permutation = Permutation(b"shuffle", 3, 200, 4, 8)
    columns = permutation.all()
    assert sorted(columns) == list(range(200))
    for value in range(0, 200, 9):
        assert permutation.column(value) == columns[value]
        assert permutation.value(columns[value]) == value
    return "shuffle by digits: 120 permutations, each with probability 1/120"


def check_uniform_requests() -> str:
    """All tables of 2 rows of 2 records and 2 empty cells, all pairs of lookups.

    Both requests together are uniform over 16 values for every pair. So the second one is uniform
    given the first, also if the second index was chosen after the first request was seen.
    """
    size = 2
    orders = list(itertools.permutations(range(2 * size)))
    for first, second in itertools.product(range(2 * size), repeat=2):
        seen: Counter[tuple[int, ...]] = Counter()
        for tables in itertools.product(orders, repeat=2):
            history = History()
            rows = [Row(size, list(order), history) for order in tables]
            view: list[int] = []
            for index in (first, second):
                row, offset = divmod(index, size)
                column = rows[row].place(offset)
                view += [EMPTY if r == row else rows[r].content(column) for r in range(2)]
                history.use(column)
            seen[tuple(view)] += 1
        chances: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for view, times in seen.items():
            fills = [range(size) if cell == EMPTY else (cell,) for cell in view]
            filled = list(itertools.product(*fills))
            for request in filled:
                chances[request] += Fraction(times, len(filled) * len(orders) ** 2)
        assert len(chances) == 16 and set(chances.values()) == {Fraction(1, 16)}
    return "requests: both of two lookups together are uniform, for all 16 pairs of indices"


def run_lookups(shape: Shape, rng: random.Random) -> int:
    """All lookups of a stream against a database that changes; answers are lost. Returns those."""
    records = [rng.randbytes(shape.record_bytes) for _ in range(shape.records)]
    client = Client(shape, rng.randbytes(32), rng)
    client.stream(records)

    def change(times: int) -> None:
        for index in rng.choices(range(shape.records), k=times):
            new = rng.randbytes(shape.record_bytes)
            client.patch(index, records[index], new)
            records[index] = new

    hot = rng.randrange(shape.records)
    made = lost = 0
    while made < shape.lookups:
        batch: list[tuple[int, int, list[int]]] = []
        for _ in range(min(rng.randrange(1, 5), shape.lookups - made)):
            index = rng.choice([hot, rng.randrange(shape.records)])
            batch.append((index, *client.request(index)))
            made += 1
        # A lost answer: the same request is sent again, after changes.
        while rng.random() < 0.4:
            lost += 1
            change(3)
        for index, lookup, request in batch:
            assert client.settle(lookup, answer(shape, records, request)) == records[index]
        change(2)

    # After the last lookup no empty cell is left, and each hint is the sum of its column.
    live = [column for column in range(shape.columns) if column not in client.history.number]
    assert len(live) == shape.row_records
    for column in live:
        held = bytes(shape.record_bytes)
        for at, row in enumerate(client.rows):
            assert row.content(column) != EMPTY
            held = xor(held, records[client.index(at, row.content(column))])
        assert held == client.hints[column]
    return lost


def check_lookups(rng: random.Random) -> str:
    """Whole streams of several shapes, one of them with a single row."""
    shapes = [Shape(8, 128, 96), Shape(1, 60, 20), Shape(16, 16, 16), Shape(5, 41, 13)] * 4
    lost = sum(run_lookups(shape, rng) for shape in shapes)
    made = sum(shape.lookups for shape in shapes)
    return f"lookups: {made} of {made} right, {lost} answers lost, and every hint right at the end"


def check_altered(rng: random.Random) -> str:
    """An answer with an altered record is refused if the record counts, else nothing changes."""
    shape = Shape(rows=8, row_records=32, lookups=8)
    records = [rng.randbytes(shape.record_bytes) for _ in range(shape.records)]
    found = harmless = 0
    for _ in range(40):
        client = Client(shape, rng.randbytes(32), rng)
        client.stream(records)
        index = rng.randrange(shape.records)
        lookup, request = client.request(index)
        waiting = client.pending[lookup]
        altered = answer(shape, records, request)
        at = rng.randrange(shape.rows)
        altered[at] = xor(altered[at], rng.randbytes(shape.record_bytes - 1) + b"\1")
        result = client.settle(lookup, altered)
        if at == waiting.row or waiting.contents[at] == EMPTY:
            assert result == records[index]
            harmless += 1
        else:
            assert result is None and client.damaged
            found += 1
    return f"altered answers: {found} found, {harmless} in records that do not count"


def chain_bound(shape: Shape, steps: int) -> float:
    """log2 of the bound that some lookup walks more than this number of steps.

    A step starts at a used column, and the next column is used with at most Q/M. The first step
    after a record's own lookup is certain.
    """
    return math.log2(shape.lookups) + steps * math.log2(shape.lookups / shape.columns)


def check_chains(rng: random.Random) -> str:
    """The share of records with chains of 1 to 4 steps, against (Q/M)^steps."""
    shape = Shape(rows=6, row_records=1024, lookups=256)
    history = History()
    orders = [rng.sample(range(shape.columns), shape.columns) for _ in range(shape.rows)]
    rows = [Row(shape.row_records, order, history) for order in orders]
    for _ in range(shape.lookups):
        row, offset = divmod(rng.randrange(shape.records), shape.row_records)
        history.use(rows[row].place(offset))
    lengths: Counter[int] = Counter()
    for row in rows:
        for offset in range(shape.row_records):
            row.longest = 0
            row.place(offset)
            lengths[row.longest] += 1

    parts = []
    for steps in range(1, 5):
        measured = sum(n for length, n in lengths.items() if length >= steps) / shape.records
        bound = (shape.lookups / shape.columns) ** steps
        assert measured <= bound + 5 * math.sqrt(bound / shape.records)
        parts.append(f"{steps}: {measured:.4f} (bound {bound:.4f})")
    return "records with chains of at least " + ", ".join(parts) + " steps"


# Checks of what the decision says about others.


def harmony_request(
    cells: list[int], segment_cells: int, index: int, rng: random.Random | None
) -> list[tuple[list[int], Fraction]]:
    """Lines 4 to 10 of HarmonyPIR's Algorithm 3, before any relocation.

    Returns all requests with their probabilities, or one drawn with `rng`.
    """
    place = cells.index(index)
    first = place - place % segment_cells
    segment = range(first, first + segment_cells)
    choices = [cell for cell in range(len(cells)) if cell not in segment or cell == place]
    if rng is not None:
        choices = [rng.choice(choices)]
    chance = Fraction(1, len(choices))
    return [([cells[c if at == place else at] for at in segment], chance) for c in choices]


def check_harmony() -> str:
    """3 records and 3 empty cells in segments of 2: how often a request holds each record."""
    holds: defaultdict[int, Fraction] = defaultdict(Fraction)
    orders = list(itertools.permutations([0, 1, 2, EMPTY, EMPTY - 1, EMPTY - 2]))
    for order in orders:
        for request, chance in harmony_request(list(order), 2, 0, None):
            for record in range(3):
                if record in request:
                    holds[record] += chance / len(orders)
    # Lemma 5.3 says 2/6 for each of them, for every index.
    assert holds[0] == Fraction(1, 5)
    assert holds[1] == holds[2] == Fraction(9, 25)
    return "HarmonyPIR, lookup of record 0: a request holds it with 1/5, and each other with 9/25"


def check_harmony_run(rng: random.Random) -> str:
    """Whole runs that look up one record: how often it and another one are never requested."""
    records, segment_cells, runs = 128, 4, 60
    missing: Counter[str] = Counter()
    for _ in range(runs):
        cells = list(range(records)) + [EMPTY] * records
        rng.shuffle(cells)
        requested: set[int] = set()
        for _ in range(records // segment_cells):
            [(request, _)] = harmony_request(cells, segment_cells, 0, rng)
            requested.update(request)
            first = cells.index(0) // segment_cells * segment_cells
            moved = cells[first : first + segment_cells]
            del cells[first : first + segment_cells]
            empty = [at for at, cell in enumerate(cells) if cell == EMPTY]
            reals = [cell for cell in moved if cell != EMPTY]
            for at, cell in zip(rng.sample(empty, len(reals)), reals, strict=True):
                cells[at] = cell
        missing["looked up"] += 0 not in requested
        missing["another"] += 1 not in requested
    assert missing["looked up"] > missing["another"] + runs // 5
    return (
        f"HarmonyPIR, {records // segment_cells} lookups of one record, {runs} runs: it is in no "
        f"request of {missing['looked up']} runs, another record in none of {missing['another']}"
    )


def check_rms(rng: random.Random) -> str:
    """A lookup in RMS24 has no hint with probability (1 − (1/2 + 1/c)/B)^M.

    A hint has one record of each of c/2 + 1 of the c partitions of B records.
    """
    partitions, size, hints, trials = 16, 16, 48, 2000
    without = 0
    for _ in range(trials):
        # The record is the first of the first partition, which a hint has or does not have.
        without += not any(
            rng.randrange(partitions) <= partitions // 2 and rng.randrange(size) == 0
            for _ in range(hints)
        )
    expected = (1 - (1 / 2 + 1 / partitions) / size) ** hints
    measured = without / trials
    assert abs(measured - expected) < 4 * math.sqrt(expected / trials)
    assert expected < math.exp(-hints / (2 * size))
    return f"RMS24, {hints} hints: {measured:.3f} of lookups without a hint, formula {expected:.3f}"


# Sizes.


def sizes(name: str, shape: Shape) -> str:
    hint = shape.record_bytes + TAG_BYTES
    up = shape.rows * math.ceil(math.log2(shape.row_records)) / 8
    down = shape.rows * shape.record_bytes
    # For each lookup, its column and its index.
    history = 8 * shape.lookups
    state = shape.columns * hint + history
    stream = shape.records * shape.record_bytes
    return (
        f"{name}: T = {shape.rows}, B = {shape.row_records:,}, Q = {shape.lookups:,}, "
        f"M = {shape.columns:,}; {up:.0f} + {down:,} bytes; state {state / 2**20:.1f} MiB, of it "
        f"{history / 2**20:.2f} history; {stream / shape.lookups / 1024:.0f} KiB of stream a "
        f"lookup; more than 32 steps with at most 2^{chain_bound(shape, 31):.1f}"
    )


def print_sizes() -> None:
    print(sizes("1 GiB x 64 B", Shape(64, 1 << 18, 1 << 16, 64)))
    print(sizes("4 GiB x 32 B", Shape(128, 1 << 20, 1 << 18, 32)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", action="store_true", help="print the table of sizes only")
    parser.add_argument("--seed", type=int, default=59, help="seed of the simulations")
    options = parser.parse_args()

    if not options.sizes:
        rng = random.Random(options.seed)
        print(check_shuffle())
        print(check_uniform_requests())
        print(check_lookups(rng))
        print(check_altered(rng))
        print(check_chains(rng))
        print(check_harmony())
        print(check_harmony_run(rng))
        print(check_rms(rng))
    print_sizes()


if __name__ == "__main__":
    main()
