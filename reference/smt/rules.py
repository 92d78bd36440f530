"""The three rules by which steps multiply, and that no other check proves."""

from engine import proves


@proves("(rule of the proofs)", "reference/smt/engine.py", "all integers", [dict(least=-1)])
def product_of_nonnegatives(s, least=0):
    a = s.defined("a", lambda: 2)
    b = s.defined("b", lambda: 3)
    s.assume(a >= least)
    s.assume(b >= least)
    s.claim(a * b >= 0)


@proves("(rule of the proofs)", "reference/smt/engine.py", "all integers", [dict(off=1)])
def scaled_equation(s, off=0):
    factor = s.defined("factor", lambda: 5)
    a = s.defined("a", lambda: 7)
    b = s.defined("b", lambda: 7)
    s.assume(a == b)
    s.claim(factor * a == factor * b + off)


@proves("(rule of the proofs)", "reference/smt/engine.py", "all integers", [dict(least=0)])
def cancelled_factor(s, least=1):
    factor = s.integer("factor", least)
    a = s.defined("a", lambda: 2)
    b = s.defined("b", lambda: 3)
    s.assume(factor * a < factor * b + 1 - least)
    s.claim(a < b)
