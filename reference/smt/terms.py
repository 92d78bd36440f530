"""Terms that are Python integers or SMT-LIB text, by one set of operators.

A model is a Python function over these terms. With integers it runs; with variables it becomes a
formula. So the function that a solver reasons about is the function that runs.
"""

import re


class Bool:
    """A truth value: a Python bool, or SMT-LIB text."""

    def __init__(self, value):
        self.value = value

    def __and__(self, other):
        return every(self, other)

    def __or__(self, other):
        return ~every(~self, ~boolean(other))

    def __invert__(self):
        if isinstance(self.value, bool):
            return Bool(not self.value)
        return Bool(f"(not {self.value})")

    def __bool__(self):
        if isinstance(self.value, bool):
            return self.value
        raise TypeError(f"no truth value: {self.value}")

    def text(self):
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        return self.value


def boolean(value):
    return value if isinstance(value, Bool) else Bool(bool(value))


def every(*values):
    """All of these hold."""
    values = [boolean(value) for value in values]
    if all(isinstance(value.value, bool) for value in values):
        return Bool(all(value.value for value in values))
    return Bool("(and " + " ".join(value.text() for value in values) + ")")


def implies(condition, result):
    return ~boolean(condition) | boolean(result)


class Int:
    """An integer of any size: a polynomial in variables, each monomial with its coefficient."""

    def __init__(self, value):
        self.terms = value if isinstance(value, dict) else {(): value} if value else {}

    @classmethod
    def variable(cls, text):
        """A variable, or another term that is not taken apart."""
        return cls({(text,): 1})

    @property
    def value(self):
        """The Python integer; None for a term with variables."""
        return self.terms.get((), 0) if all(monomial == () for monomial in self.terms) else None

    def text(self):
        parts = [product(monomial, factor) for monomial, factor in self.terms.items()]
        if len(parts) > 1:
            return "(+ " + " ".join(parts) + ")"
        return parts[0] if parts else "0"

    def __add__(self, other):
        total = dict(self.terms)
        for monomial, factor in integer(other).terms.items():
            total[monomial] = total.get(monomial, 0) + factor
        return Int({monomial: factor for monomial, factor in total.items() if factor})

    def __mul__(self, other):
        total = {}
        for left, a in self.terms.items():
            for right, b in integer(other).terms.items():
                monomial = tuple(sorted(left + right))
                total[monomial] = total.get(monomial, 0) + a * b
        return Int({monomial: factor for monomial, factor in total.items() if factor})

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -integer(other)

    def __rsub__(self, other):
        return -self + other

    def _compare(self, other, name, function):
        other = integer(other)
        if self.value is not None and other.value is not None:
            return Bool(function(self.value, other.value))
        return Bool(f"({name} {self.text()} {other.text()})")

    def __lt__(self, other):
        return self._compare(other, "<", lambda a, b: a < b)

    def __le__(self, other):
        return self._compare(other, "<=", lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compare(other, ">", lambda a, b: a > b)

    def __ge__(self, other):
        return self._compare(other, ">=", lambda a, b: a >= b)

    def __eq__(self, other):
        return self._compare(other, "=", lambda a, b: a == b)

    def __ne__(self, other):
        return ~(self == other)

    __hash__ = None


# The products of variables, by their names in formulas.
PRODUCTS = {}


def product(monomial, factor):
    """SMT-LIB text of a product. A product of variables is a name, which a check either defines or
    leaves open."""
    number = str(factor) if factor >= 0 else f"(- {-factor})"
    if not monomial:
        return number

    name = monomial[0]
    if len(monomial) > 1:
        name = "|" + "*".join(monomial).replace("|", "'") + "|"
        PRODUCTS[name] = "(* " + " ".join(monomial) + ")"
    return name if factor == 1 else f"(* {number} {name})"


def products_in(texts):
    """The names of products in texts and in their definitions, each after those that it needs."""
    found = []
    for text in texts:
        for name in re.findall(r"\|[^|]*\|", text):
            if name not in found:
                found += [inner for inner in products_in([PRODUCTS[name]]) if inner not in found]
                found.append(name)
    return found


def integer(value):
    return value if isinstance(value, Int) else Int(int(value))


class Word:
    """A machine word of a fixed width; operators wrap, comparisons are unsigned."""

    def __init__(self, width, value):
        self.width = width
        self.value = value % (1 << width) if isinstance(value, int) else value

    def text(self):
        if isinstance(self.value, int):
            return f"(_ bv{self.value} {self.width})"
        return self.value

    def _other(self, other):
        if isinstance(other, Word):
            if other.width != self.width:
                raise TypeError(f"words of {self.width} and {other.width} bits")
            return other
        return Word(self.width, other)

    def _binary(self, other, name, function):
        other = self._other(other)
        if isinstance(self.value, int) and isinstance(other.value, int):
            return Word(self.width, function(self.value, other.value))
        return Word(self.width, f"({name} {self.text()} {other.text()})")

    def __add__(self, other):
        return self._binary(other, "bvadd", lambda a, b: a + b)

    def __sub__(self, other):
        return self._binary(other, "bvsub", lambda a, b: a - b)

    def __mul__(self, other):
        return self._binary(other, "bvmul", lambda a, b: a * b)

    def __and__(self, other):
        return self._binary(other, "bvand", lambda a, b: a & b)

    def __or__(self, other):
        return self._binary(other, "bvor", lambda a, b: a | b)

    def __xor__(self, other):
        return self._binary(other, "bvxor", lambda a, b: a ^ b)

    def __lshift__(self, other):
        width = self.width
        return self._binary(other, "bvshl", lambda a, b: a << b if b < width else 0)

    def __rshift__(self, other):
        return self._binary(other, "bvlshr", lambda a, b: a >> b)

    def sign_shift(self, places):
        """The shift to the right of a signed word."""
        return self._binary(places, "bvashr", lambda a, b: signed_value(a, self.width) >> b)

    def negated(self):
        return Word(self.width, 0) - self

    def _compare(self, other, name, function):
        other = self._other(other)
        if isinstance(self.value, int) and isinstance(other.value, int):
            return Bool(function(self.value, other.value))
        return Bool(f"({name} {self.text()} {other.text()})")

    def __lt__(self, other):
        return self._compare(other, "bvult", lambda a, b: a < b)

    def __le__(self, other):
        return self._compare(other, "bvule", lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compare(other, "bvugt", lambda a, b: a > b)

    def __ge__(self, other):
        return self._compare(other, "bvuge", lambda a, b: a >= b)

    def __eq__(self, other):
        return self._compare(other, "=", lambda a, b: a == b)

    def __ne__(self, other):
        return ~(self == other)

    __hash__ = None

    def widened(self, width):
        """The same number in more bits."""
        if isinstance(self.value, int):
            return Word(width, self.value)
        more = width - self.width
        return Word(width, f"((_ zero_extend {more}) {self.text()})") if more else self

    def sign_widened(self, width):
        """The same signed number in more bits."""
        if isinstance(self.value, int):
            return Word(width, signed_value(self.value, self.width))
        return Word(width, f"((_ sign_extend {width - self.width}) {self.text()})")

    def low(self, width):
        """The lowest bits."""
        if isinstance(self.value, int):
            return Word(width, self.value)
        return Word(width, f"((_ extract {width - 1} 0) {self.text()})")


def signed_value(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def choose(condition, yes, no):
    """`yes` if the condition holds, else `no`."""
    condition = boolean(condition)
    words = [term for term in (yes, no) if isinstance(term, Word)]
    if words:
        width = words[0].width
        yes, no = (term if isinstance(term, Word) else Word(width, term) for term in (yes, no))
    elif isinstance(yes, Bool) or isinstance(no, Bool):
        yes, no = boolean(yes), boolean(no)
    else:
        yes, no = integer(yes), integer(no)
    if isinstance(condition.value, bool):
        return yes if condition.value else no

    text = f"(ite {condition.text()} {yes.text()} {no.text()})"
    if words:
        return Word(width, text)
    return Bool(text) if isinstance(yes, Bool) else Int.variable(text)


def least(a, b):
    return choose(a < b, a, b)
