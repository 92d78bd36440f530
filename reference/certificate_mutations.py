#!/usr/bin/env python3
"""Alters certificates one value at a time, and fails if certificate.py accepts one of them.

`certificate_mutations.py FILE...` prints the number of altered certificates.
"""

import copy
import json
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import certificate as checker

ERRORS = (checker.Refused, ValueError, TypeError, KeyError, AttributeError, ArithmeticError)
# Parameters of which a larger value changes no term: a longer modulus of clients, and empty parts.
HARMLESS = ("modulus bits", "parts", "buckets")


def levels(data):
    """A certificate and the ones below it."""
    while data is not None:
        yield data
        data = data.get("below")


def plus(text, more):
    return str(Fraction(text) + more)


def changes(data):
    """Names and functions that alter one value of a certificate, given that certificate."""
    yield "scheme", lambda one: one.update(scheme="another")
    yield "asked", lambda one: one.update(asked_bits=plus(one["asked_bits"], 1))
    yield "unknown field", lambda one: one.update(more="1")
    yield "unknown parameter", lambda one: one["parameters"].update(more="1")
    yield "unknown term", lambda one: one["terms"].append(
        {"name": "more", "kind": "variance", "source": "none", "value": "1"})
    if "failure_bits" in data:
        yield "claim", lambda one: one.update(failure_bits=plus(one["failure_bits"], 9))
    for name in data["parameters"]:
        if name not in HARMLESS:
            yield f"parameter {name}", lambda one, name=name: one["parameters"].update(
                {name: plus(one["parameters"][name], 1)})
        yield f"no parameter {name}", lambda one, name=name: one["parameters"].pop(name)
    for i, term in enumerate(data["terms"]):
        value = Fraction(term["value"])
        for share in (Fraction(1, 1000), Fraction(-1, 1000)):
            altered = str(value * (1 + share) if value else abs(share))
            yield f"term {term['name']}", lambda one, i=i, altered=altered: one["terms"][i].update(
                value=altered)
        if term["kind"] == "accepted":
            yield "a smaller threshold", lambda one, i=i: one["terms"][i].update(
                value=plus(one["terms"][i]["value"], -1))
        for field in ("name", "kind"):
            yield f"{field} of {term['name']}", lambda one, i=i, field=field: one["terms"][i].update(
                {field: "another"})
        yield f"no term {term['name']}", lambda one, i=i: one["terms"].pop(i)
    for i, _ in enumerate(data["security"]):
        for field in ("n", "q", "sigma", "bits"):
            yield f"security {field}", lambda one, i=i, field=field: one["security"][i].update(
                {field: plus(one["security"][i][field], 1)})
        for field in ("secret", "row"):
            yield f"security {field}", lambda one, i=i, field=field: one["security"][i].update(
                {field: "another"})
        yield "no security", lambda one, i=i: one["security"].pop(i)


def main(paths):
    count, accepted = 0, []
    for path in paths:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        checker.check(data)
        for depth, level in enumerate(levels(data)):
            for name, change in changes(level):
                altered = copy.deepcopy(data)
                change(list(levels(altered))[depth])
                count += 1
                try:
                    checker.check(altered)
                except ERRORS:
                    continue
                accepted.append(f"{path}: {name} at depth {depth}")
    print(f"{count} altered certificates, {len(accepted)} accepted", *accepted, sep="\n")
    sys.exit(1 if accepted else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
