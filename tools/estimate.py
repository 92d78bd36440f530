#!/usr/bin/env python3
"""Estimates the rows of papir's security table with the lattice estimator.

    pip install passagemath-standard-no-symbolics passagemath-symbolics
    git clone https://github.com/malb/lattice-estimator
    git -C lattice-estimator checkout COMMIT      (ESTIMATOR_COMMIT of security.rs)
    python3 tools/estimate.py --estimator lattice-estimator

The rows are those of crates/lattice/src/security.rs; a test there checks that every row has the
form that this program reads.

Method. A row's figure is the least log2 cost of four attacks: primal uSVP, primal BDD, dual and
dual hybrid (the estimator's `LWE.primal_usvp`, `primal_bdd`, `dual` and `dual_hybrid`). An attacker
has as many samples as it wants, and the number that it uses is optimised for each attack:

- The primal attacks choose their lattice's dimension, and with it the number of samples, on their
  own. They run once, with an unbounded number.
- The dual attack takes the number that makes its vectors shortest, and the dual hybrid attack takes
  n. Neither is the cheapest. Both run with 15 numbers from n/2 to 4n, evenly spaced on a logarithmic
  scale.
- The estimator optimises a dual hybrid attack in steps of ten coordinates. The best three of the 15
  are therefore confirmed by descents over samples, block size and coordinates in steps down to one,
  from a grid of numbers of coordinates. (ADPS16 is for comparison and goes without descents.)
"""

import argparse
import importlib
import itertools
import math
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Iterator, NoReturn

TABLE = Path(__file__).resolve().parent.parent / "crates/lattice/src/security.rs"
ROW = re.compile(
    r'^    row\("(?P<set>[^"]+)", (?P<n>[\d_]+), (?P<log2_q>[\d.]+), Secret::(?P<secret>\w+), '
    r"(?P<sigma>[\d.]+), (?P<matzov>[\d.]+), ",
    re.MULTILINE,
)
COMMIT = re.compile(r'ESTIMATOR_COMMIT: &str = "([0-9a-f]{40})"')
MODELS = ["MATZOV", "ADPS16"]
NUMBERS_OF_SAMPLES = 15
# Numbers of samples from which the dual hybrid attack is confirmed, the best ones.
CONFIRMED = 3
# Where descents of the dual hybrid attack start: numbers of guessed coordinates, and changes of the
# total of guessed and transformed ones.
GUESSED = range(0, 41, 4)
CHANGES = range(-12, 13, 4)


@dataclass(frozen=True)
class Row:
    """A parameter set, with the figure that the table states."""

    name: str
    n: int
    log2_q: float
    secret: str
    sigma: float
    stated: float

    def __str__(self) -> str:
        return f"n = {self.n}, log2 q = {self.log2_q:g}, {self.secret}, σ = {self.sigma:g}"


@dataclass(frozen=True)
class Estimate:
    """log2 of an attack's cost, and the samples that it uses."""

    bits: float
    attack: str
    samples: int


def fail(message: str) -> NoReturn:
    sys.exit(f"estimate.py: {message}")


def table() -> tuple[list[Row], str]:
    """Rows and the estimator's commit, from security.rs."""
    source = TABLE.read_text(encoding="utf-8")
    commit = COMMIT.search(source)
    rows = [
        Row(
            match["set"],
            int(match["n"].replace("_", "")),
            float(match["log2_q"]),
            match["secret"],
            float(match["sigma"]),
            float(match["matzov"]),
        )
        for match in ROW.finditer(source)
    ]
    if commit is None or len(rows) != source.count('\n    row("'):
        fail(f"{TABLE} has rows or a commit in another form than this program reads")
    return rows, commit[1]


def git(directory: Path, *arguments: str) -> str | None:
    run = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def check_commit(directory: Path, expected: str) -> None:
    """Ends the program unless the checkout is the expected commit, without changes."""
    found, top = git(directory, "rev-parse", "HEAD"), git(directory, "rev-parse", "--show-toplevel")
    if found is None or top is None or Path(top) != directory.resolve():
        fail(f"{directory} is no git checkout: its commit is unknown (--any-commit skips this check)")
    if found != expected:
        fail(f"{directory} is at commit {found}: run `git -C {directory} checkout {expected}`")
    if git(directory, "status", "--porcelain", "--untracked-files=no"):
        fail(f"{directory} has changed files (--any-commit skips this check)")


def load(directory: Path) -> ModuleType:
    """Imports the estimator from its checkout."""
    try:
        importlib.import_module("sage.all")
    except ImportError as error:
        packages = "passagemath-standard-no-symbolics passagemath-symbolics"
        fail(f"Sage is missing ({error}): pip install {packages}")
    if not (directory / "estimator" / "__init__.py").is_file():
        fail(f"{directory} has no estimator: git clone https://github.com/malb/lattice-estimator")
    sys.path.insert(0, str(directory))
    return importlib.import_module("estimator")


def parameters(estimator: ModuleType, row: Row, samples: int | None = None) -> Any:
    """The row in the estimator's terms, with an unbounded number of samples by default."""
    nd, error = estimator.ND, estimator.ND.DiscreteGaussian(row.sigma)
    secret = {"ErrorLike": error, "Ternary": nd.Uniform(-1, 1), "Binary": nd.Uniform(0, 1)}[row.secret]
    whole = int(row.log2_q)
    # Exact for whole exponents, and to 52 bits for others.
    q = round(2 ** (row.log2_q - whole + 52)) * 2**whole >> 52
    limit = {} if samples is None else {"m": samples}
    return estimator.LWE.Parameters(n=row.n, q=q, Xs=secret, Xe=error, **limit)


def bits(cost: Any) -> float:
    """log2 of a cost; costs may exceed the range of floats."""
    rop = cost["rop"]
    return float(rop.log(2)) if hasattr(rop, "log") else math.log2(rop)


def numbers_of_samples(n: int) -> list[int]:
    last = NUMBERS_OF_SAMPLES - 1
    return [round(n / 2 * 8 ** (i / last)) for i in range(NUMBERS_OF_SAMPLES)]


def primal(estimator: ModuleType, row: Row, model: Any) -> Iterator[Estimate]:
    lwe, problem = estimator.LWE, parameters(estimator, row)
    for name, attack in [("primal uSVP", lwe.primal_usvp), ("primal BDD", lwe.primal_bdd)]:
        cost = attack(problem, red_cost_model=model)
        yield Estimate(bits(cost), name, int(cost["d"]) - row.n)


def dual(estimator: ModuleType, row: Row, model: Any) -> Iterator[Estimate]:
    for limit in [None, *numbers_of_samples(row.n)]:
        cost = estimator.LWE.dual(parameters(estimator, row, limit), red_cost_model=model)
        yield Estimate(bits(cost), "dual", int(cost["m"]))


class Hybrid:
    """The dual hybrid attack on one row under one model of lattice reduction."""

    AXES = ("samples", "guessed", "transformed", "beta", "modulus")

    def __init__(self, estimator: ModuleType, row: Row, model: Any) -> None:
        self.attack = type(estimator.LWE.dual_hybrid)
        self.problem = parameters(estimator, row).normalize()
        self.model = model

    def estimate(self, confirm: bool) -> Estimate:
        """The best number of samples."""
        points = sorted(map(self.at, numbers_of_samples(self.problem.n)), key=self.bits)
        grid = itertools.product(points[:CONFIRMED], GUESSED, CHANGES)
        starts = [self.shifted(*start) for start in grid] if confirm else []
        best = min([points[0], *map(self.descend, starts)], key=self.bits)
        return Estimate(self.bits(best), "dual hybrid", best["samples"])

    def at(self, samples: int) -> dict[str, int]:
        """The estimator's own optimum for a number of samples, which it otherwise sets to n."""

        class Fixed(self.attack):  # type: ignore[misc, name-defined]
            @classmethod
            def cost(cls, *arguments: Any, **options: Any) -> Any:
                return super().cost(*arguments, **{**options, "m": samples})

        cost = Fixed()(self.problem, red_cost_model=self.model)
        values = (samples, cost["zeta"], cost["t"], cost["beta"], cost["p"])
        return {axis: int(value) for axis, value in zip(self.AXES, values)}

    def bits(self, point: dict[str, int]) -> float:
        options = {"m": point["samples"], "k_enum": point["guessed"], "k_fft": point["transformed"]}
        cost = self.attack.cost(
            point["beta"], self.problem, p=point["modulus"], red_cost_model=self.model, **options
        )
        return bits(cost)

    def allowed(self, point: dict[str, int]) -> bool:
        least = {"samples": 1, "guessed": 0, "transformed": 0, "beta": 40, "modulus": 2}
        rest = self.problem.n - point["guessed"] - point["transformed"]
        return rest > 0 and all(point[axis] >= bound for axis, bound in least.items())

    @staticmethod
    def shifted(point: dict[str, int], guessed: int, change: int) -> dict[str, int]:
        """Another number of guessed coordinates, and of both kinds together."""
        transformed = max(0, point["transformed"] + point["guessed"] + change - guessed)
        return {**point, "guessed": guessed, "transformed": transformed}

    def descend(self, point: dict[str, int]) -> dict[str, int]:
        """The lowest point that moves of one or two axes reach, in steps from 16 down to 1."""
        least = self.bits(point)
        for step in (16, 8, 4, 2, 1):
            while True:
                near = [moved for moved in self.near(point, step) if self.allowed(moved)]
                found, best = min(((self.bits(moved), i) for i, moved in enumerate(near)))
                if found >= least:
                    break
                least, point = found, near[best]
        return point

    def near(self, point: dict[str, int], step: int) -> Iterator[dict[str, int]]:
        single = [{axis: by} for axis in self.AXES[:4] for by in (-step, step)]
        pairs = [{**a, **b} for a, b in itertools.combinations(single, 2) if a.keys() != b.keys()]
        for move in [*single, *pairs, {"modulus": -1}, {"modulus": 1}]:
            yield {**point, **{axis: point[axis] + by for axis, by in move.items()}}


def estimate(estimator: ModuleType, row: Row, model: str) -> Estimate:
    """The best attack on a row under a model of lattice reduction."""
    reduction = getattr(estimator.RC, model)
    found = [*primal(estimator, row, reduction), *dual(estimator, row, reduction)]
    found.append(Hybrid(estimator, row, reduction).estimate(confirm=model == "MATZOV"))
    return min(found, key=lambda estimate: estimate.bits)


def report(estimator: ModuleType, rows: list[Row], commit: str) -> None:
    print("| set | row | stated | MATZOV | best attack | samples | ADPS16 | method | commit |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for row in rows:
        start = time.monotonic()
        matzov, adps16 = (estimate(estimator, row, model) for model in MODELS)
        print(
            f"| {row.name} | {row} | {row.stated:.1f} | {matzov.bits:.1f} | {matzov.attack} "
            f"| {matzov.samples} | {adps16.bits:.1f} | samples optimised | {commit} |",
            flush=True,
        )
        print(f"{row.name}: {time.monotonic() - start:.0f} s", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--estimator", type=Path, metavar="DIR", help="checkout of the lattice estimator")
    parser.add_argument("--row", metavar="NAME", help="only rows whose set contains NAME")
    parser.add_argument(
        "--set",
        metavar="N,LOG2_Q,SECRET,SIGMA",
        help="a set outside the table, such as 1024,32,ErrorLike,12",
    )
    parser.add_argument("--list", action="store_true", help="print the rows without estimating them")
    parser.add_argument("--any-commit", action="store_true", help="accept another commit, or changed files")
    return parser.parse_args()


def own_row(text: str) -> Row:
    try:
        n, log2_q, secret, sigma = text.split(",")
        row = Row("--set", int(n), float(log2_q), secret, float(sigma), math.nan)
    except ValueError:
        fail(f"--set {text}: expected n, log2 q, secret and sigma, separated by commas")
    if row.secret not in ("ErrorLike", "Ternary", "Binary"):
        fail(f"--set {text}: the secret is ErrorLike, Ternary or Binary")
    return row


def main() -> None:
    options = arguments()
    rows, commit = table()
    if options.row is not None:
        rows = [row for row in rows if options.row in row.name]
    if options.set is not None:
        rows = [own_row(options.set)]
    if not rows:
        fail(f"no row's set contains {options.row!r}; --list prints all")
    if options.list:
        print(*(f"{row.name}: {row}: {row.stated} bits" for row in rows), sep="\n")
        return
    if options.estimator is None:
        fail("--estimator DIR is missing: a checkout of https://github.com/malb/lattice-estimator")
    if not options.any_commit:
        check_commit(options.estimator, commit)
    report(load(options.estimator), rows, "unchecked" if options.any_commit else commit[:8])


if __name__ == "__main__":
    main()
