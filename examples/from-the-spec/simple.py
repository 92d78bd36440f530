"""The scheme `simple`: queries and answers, §simple payloads of docs/formats.md."""
import math
import struct

from wire import check, cut_record, expand, gaussian

NUMBER = 1  # §Message envelope: the scheme's number
N = 1024  # words of the secret
Q = 2**32
DELTA, SIGMA = 2**24, 11  # constants, since a server could choose a sigma of 0
noise = gaussian(SIGMA)


class Simple:
    """What a client knows of a database."""
    number = NUMBER

    def __init__(self, parameters, public):
        """From the parameters (bytes) and a Reader of the scheme's own public bytes."""
        # §Message envelope: one byte more states a bound on failures below 2^-40.
        check(len(parameters) in (24, 25), "parameters of another length")
        self.failure = parameters[24] if len(parameters) == 25 else 40
        self.records, self.record_bits, stated = struct.unpack_from("<3Q", parameters)
        self.is_rows_first, self.units_of_column = divmod(stated, 2**63)
        check(0 not in (self.records, self.record_bits, self.units_of_column), "empty parameters")
        # The fewest records that fill whole bytes are a unit; the bytes of a column are the rows of D.
        self.records_of_unit = math.lcm(self.record_bits, 8) // self.record_bits
        self.unit_bytes = self.records_of_unit * self.record_bits // 8
        self.rows = self.unit_bytes * self.units_of_column
        self.columns = -(-self.records // (self.records_of_unit * self.units_of_column))
        self.seed = public.take(32)
        self.hint = memoryview(public.take(4 * N * self.rows)).cast("I")

    @property
    def errors(self):
        """B: the most that errors add to a row, but with a tiny probability."""
        deviations = math.sqrt(2 * math.log(2) * (9 + self.failure + math.log2(self.rows)))
        return math.ceil(SIGMA * 128 * math.sqrt(self.columns) * deviations)

    @property
    def answer_bits(self):
        """Bits of an answer's word."""
        return next(bits for bits in range(9, 33) if self.errors + 2**(31 - bits) <= 0.9 * DELTA / 2)

    def place(self, index):
        """The column of a record's unit, and the place of the unit in it."""
        unit = index // self.records_of_unit
        if self.is_rows_first:
            return unit % self.columns, unit // self.columns
        return divmod(unit, self.units_of_column)

    def query(self, index):
        """The payload of a query for a record, and its secret: A·s + e, plus delta in the column's word."""
        column, _ = self.place(index)
        secret = [noise() % Q for _ in range(N)]
        words = [(inner(row, secret) + noise() + (DELTA if c == column else 0)) % Q
                 for c, row in enumerate(masks(self.seed, self.columns))]
        return struct.pack(f"<{len(words)}I", *words), secret

    def record(self, payload, secret, index):
        """The record from the payload of its answer."""
        slot = index % self.records_of_unit
        first = self.place(index)[1] * self.unit_bytes
        column = self.open_answer(payload, secret, range(first, first + self.unit_bytes))
        return cut_record(column, slot, self.record_bits)

    def open_answer(self, payload, secret, rows):
        """The bytes of D in the wanted column and these rows."""
        bits, packed = self.answer_bits, int.from_bytes(payload, "little")  # §Packed coefficients
        check(len(payload) == -(-self.rows * bits // 8) and packed >> self.rows * bits == 0,
              "an answer of a wrong length")
        out = bytearray()
        for r in rows:
            word = (packed >> r * bits) % 2**bits << 32 - bits
            byte, distance = divmod(word - inner(self.hint[N * r:N * r + N], secret) + DELTA // 2, DELTA)
            check(abs(distance - DELTA // 2) <= self.errors + 2**(31 - bits), "an answer that does not decode")
            out.append((byte + 128) % 256)  # D's bytes are centred
        return bytes(out)


def inner(a, b):
    """The inner product modulo q."""
    return sum(map(int.__mul__, a, b)) % Q


def masks(seed, columns):
    """The rows of A, one for each column of D, §Negacyclic masks."""
    for block in range(-(-columns // N)):
        a = struct.unpack(f"<{N}I", expand(seed, "simple/lwe-matrix", block, 4 * N))
        both = [-x for x in a[::-1]] + list(a[::-1])
        for c in range(min(N, columns - block * N)):
            # a[c], …, a[0], -a[N-1], …, -a[c+1]
            yield both[2 * N - 1 - c:] + both[:N - 1 - c]
