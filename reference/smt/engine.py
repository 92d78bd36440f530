"""Properties of models, and how they are proved and run.

A property is a function of a session. It declares variables, states assumptions, computes with the
terms of `terms.py`, and states claims. A `Formulas` session turns it into checks for a solver, one
for each claim. A `Run` session runs it on integers.
"""

import random
from typing import NamedTuple

from terms import PRODUCTS, Bool, Int, Word, boolean, every, integer, products_in

PROPERTIES = []

# The largest integer in a run where a formula has integers of any size.
LARGE = 1 << 200


class Property(NamedTuple):
    """A claim about one function of the Rust code."""

    name: str
    rust: str
    file: str
    widths: str
    instances: list
    mutants: list
    function: object

    def state(self, session, instance):
        self.function(session, **instance)


def proves(rust, file, widths, mutants, instances=({},)):
    """Registers a function as a property. `instances` and `mutants` are keyword arguments of it:
    the property must hold for each instance, and must fail for each mutant."""

    def register(function):
        name = function.__name__.replace("_", "-")
        PROPERTIES.append(
            Property(name, rust, file, widths, list(instances), list(mutants), function)
        )
        return function

    return register


class Check(NamedTuple):
    """A formula that must have no solution: the assumptions hold, and the claim does not."""

    declarations: list
    assumptions: list
    claim: Bool

    def scripts(self):
        """The check as SMT-LIB text: first with products of variables as unknown numbers, if it has
        any, and then with products. A check without a solution for any numbers has none."""
        texts = [assumption.text() for assumption in self.assumptions]
        texts.append((~self.claim).text())
        products = products_in(texts)

        opaque = [f"(declare-const {name} Int)" for name in products]
        defined = [f"(define-fun {name} () Int {PRODUCTS[name]})" for name in products]
        return [self._script(texts, part) for part in ([opaque, defined] if products else [[]])]

    def _script(self, texts, products):
        asserted = [f"(assert {text})" for text in texts]
        lines = ["(set-logic ALL)", *self.declarations, *products, *asserted, "(check-sat)"]
        return "\n".join(lines) + "\n"

    def solved(self, solve, seconds):
        """The answer of a solver: "unsat" for a claim that holds."""
        for script in self.scripts():
            answer = solve(script, seconds)
            if answer == "unsat":
                break
        return answer


class Formulas:
    """Turns a property into checks."""

    def __init__(self):
        self.declarations = []
        self.assumptions = []
        self.checks = []
        self.claims = []
        # The assumptions without steps.
        self.given = []

    def integer(self, name, low, high=None):
        """An integer from `low` to `high`, or of any size."""
        term = self.defined(name, None)
        self.assume(term >= low)
        if high is not None:
            self.assume(term <= high)
        return term

    def defined(self, name, value):
        """An integer that the assumptions after it determine; `value` computes it in a run."""
        name = f"{name}_{len(self.declarations)}"
        self.declarations.append(f"(declare-const {name} Int)")
        return Int.variable(name)

    def word(self, name, width, low=0, high=None):
        """A word of this width, from `low` to `high`."""
        name = f"{name}_{len(self.declarations)}"
        self.declarations.append(f"(declare-const {name} (_ BitVec {width}))")
        word = Word(width, name)
        if low:
            self.assume(word >= low)
        if high is not None:
            self.assume(word <= high)
        return word

    def assume(self, condition):
        condition = boolean(condition)
        self.assumptions.append(condition)
        self.given.append(condition)

    def divide(self, a, b):
        """The quotient, rounded down, and the remainder of a division by a positive number."""
        a, b = integer(a), integer(b)
        if a.value is not None and b.value is not None:
            return Int(a.value // b.value), Int(a.value % b.value)
        if b.value is None:
            self.step(b > 0)
        quotient = self.defined("quotient", None)
        rest = self.defined("rest", None)
        self.assume(a == quotient * b + rest)
        self.assume(rest >= 0)
        self.assume(rest < b)
        return quotient, rest

    def step(self, claim):
        """A claim that later ones use, and that is proved itself."""
        self._check(claim)

    def nonnegative(self, *pairs):
        """For each pair of integers: neither is negative, and so their product is not.

        The first is a step, the second follows by `rules.product_of_nonnegatives`. Solvers of
        linear arithmetic do not find such products themselves."""
        for a, b in pairs:
            self.step(every(integer(a) >= 0, integer(b) >= 0))
            self.assumptions.append(integer(a) * b >= 0)

    def scale(self, factor, a, b):
        """a and b are equal, a step, and so their products with a factor are
        (`rules.scaled_equation`)."""
        self.step(integer(a) == b)
        self.assumptions.append(factor * integer(a) == factor * integer(b))

    def cancel(self, factor, a, b):
        """The factor is positive and factor*a < factor*b, a step, and so a < b
        (`rules.cancelled_factor`)."""
        self.step(every(integer(factor) > 0, factor * integer(a) < factor * integer(b)))
        self.assumptions.append(integer(a) < b)

    def claim(self, claim):
        """Return the statement of the property."""
        self._check(claim)
        self.claims.append(boolean(claim))

    def _check(self, claim):
        claim = boolean(claim)
        self.checks.append(Check(list(self.declarations), list(self.assumptions), claim))
        self.assumptions.append(claim)

    def refutation(self):
        """A check of all claims at once, without steps: a mutant must have a solution."""
        return Check(self.declarations, self.given, every(*self.claims))


class Rejected(Exception):
    """The chosen integers do not satisfy an assumption."""


class Refuted(Exception):
    """A claim does not hold."""


class Run:
    """Runs a property on chosen integers."""

    def __init__(self, choices):
        self.random = choices
        self.chosen = {}

    def integer(self, name, low, high=None):
        low, high = integer(low).value, LARGE if high is None else integer(high).value
        if low > high:
            raise Rejected(name)
        self.chosen[name] = number = self._pick(low, high)
        return Int(number)

    def word(self, name, width, low=0, high=None):
        low, high = [bound.value if isinstance(bound, Word) else bound for bound in (low, high)]
        high = (1 << width) - 1 if high is None else high
        if low > high:
            raise Rejected(name)
        self.chosen[name] = number = self._pick(low, high)
        return Word(width, number)

    def _pick(self, low, high):
        """A number from the ends, near a power of two, small, or anywhere."""
        kind = self.random.randrange(5)
        if kind == 0:
            number = self.random.choice([low, high, low + 1, high - 1, (low + high) // 2])
        elif kind == 1:
            bits = self.random.randrange(max(1, high.bit_length()) + 1)
            number = (1 << bits) + self.random.choice([-1, 0, 1])
        elif kind == 2:
            number = low + self.random.randrange(20)
        else:
            number = self.random.randint(low, high)
        return min(max(number, low), high)

    def defined(self, name, value):
        return Int(value())

    def assume(self, condition):
        if not boolean(condition):
            raise Rejected

    def divide(self, a, b):
        a, b = integer(a).value, integer(b).value
        return Int(a // b), Int(a % b)

    def step(self, claim):
        pass

    def nonnegative(self, *pairs):
        pass

    def scale(self, factor, a, b):
        pass

    def cancel(self, factor, a, b):
        pass

    def claim(self, claim):
        if not boolean(claim):
            raise Refuted(self.chosen)


def runs(item, instance, tries, seed=1):
    """Runs a property on random and boundary integers. Returns how many runs satisfied its
    assumptions, and the integers of one that it fails for, or None."""
    choices = random.Random(f"{item.name} {seed}")
    passed = 0
    for _ in range(tries):
        run = Run(choices)
        try:
            item.state(run, instance)
            passed += 1
        except Rejected:
            pass
        except Refuted:
            return passed, run.chosen
    return passed, None
