"""Proves the arithmetic of papir's Rust code: `make evidence`.

Usage: prove.py [--mutants | --table] [--only TEXT] [--seconds N] [--write FOLDER]

Each property is decided by z3 and by cvc5, and is also run on integers. Exits with 1 if a property
is refuted, or if neither solver proves it. With --mutants, changed models are checked instead: each
of them must be refuted. --table prints the table of docs/evidence.md, without a solver. --write
stores every check as an SMT-LIB file, for other solvers.
"""

import argparse
import sys
import time
from pathlib import Path

import gadget  # noqa: F401  Each module registers its properties.
import garner  # noqa: F401
import lengths  # noqa: F401
import merkle  # noqa: F401
import packing  # noqa: F401
import reduction  # noqa: F401
import rules  # noqa: F401
from engine import PROPERTIES, Formulas, runs
from solvers import SOLVERS, version
from ties import TIES

ROOT = Path(__file__).resolve().parents[2]

# Runs of a property on integers, for each instance.
RUNS = 2000
# Runs in which a mutant must fail at least once, if no solver refutes it.
MUTANT_RUNS = 20_000
# Seconds of a solver for a mutant. Solutions are easy to find, or are found by runs.
MUTANT_SECONDS = 5


def main():
    options = arguments()
    chosen = [item for item in PROPERTIES if options.only in item.name]
    if not chosen:
        sys.exit(f"no property has {options.only} in its name")
    if missing := {item.name for item in PROPERTIES} ^ set(TIES):
        sys.exit(f"ties.py and the properties differ: {', '.join(sorted(missing))}")
    if options.table:
        print("\n".join(table(chosen)))
        return

    print(f"{len(chosen)} properties; {', '.join(version(name) for name in SOLVERS)}")
    report = mutants if options.mutants else proofs
    failed = [item.name for item in chosen if not report(item, options)]
    if failed:
        sys.exit("failed: " + ", ".join(failed))
    print(f"all {len(chosen)} properties passed")


def table(chosen):
    """The properties as lines of Markdown."""
    lines = ["| property | Rust | for | test of the Rust code |", "|---|---|---|---|"]
    for item in chosen:
        place = item.file.removeprefix("crates/")
        row = [item.name, f"{item.rust} (`{place}`)", item.widths, tie(item.name)]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def tie(name):
    """The test that ties a property to the Rust code; it must exist. Rules of proofs have none."""
    if TIES[name] is None:
        return "none"
    file, test = TIES[name]
    if f"fn {test}(" not in (ROOT / file).read_text():
        sys.exit(f"{name}: {file} has no test {test}")
    return f"`{test}`"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", action="store_true", help="check that changed models fail")
    parser.add_argument("--table", action="store_true", help="print the table of the properties")
    parser.add_argument("--only", default="", help="only properties with this text in their names")
    parser.add_argument("--seconds", type=float, default=60, help="limit for each check")
    parser.add_argument("--write", type=Path, help="a folder for the checks as SMT-LIB files")
    return parser.parse_args()


def proofs(item, options):
    """Proves a property; prints a row for each solver. Returns whether it holds."""
    passed = 0
    for instance in item.instances:
        count, failure = runs(item, instance, RUNS // len(item.instances) + 50)
        passed += count
        if failure is not None:
            print(f"{item.name}: fails for {instance} {failure}")
            return False

    print(f"\n{item.name}: {item.rust} ({item.file})\n  {item.widths}; {passed} runs")
    # Assumptions without a solution would prove anything.
    if passed == 0:
        print("  no run satisfies the assumptions")
        return False

    results = [solved(item, name, options) for name in SOLVERS]
    return "refuted" not in results and "proved" in results


def solved(item, name, options):
    """The result of one solver for all checks of a property."""
    start = time.monotonic()
    count, result = 0, "proved"
    for number, instance in enumerate(item.instances):
        formulas = Formulas()
        item.state(formulas, instance)
        for step, check in enumerate(formulas.checks):
            if options.write:
                options.write.mkdir(parents=True, exist_ok=True)
                path = options.write / f"{item.name}-{number}-{step}.smt2"
                path.write_text(check.scripts()[-1])
            answer = check.solved(SOLVERS[name], options.seconds)
            count += 1
            if answer != "unsat":
                # A step that is not proved for all words says nothing of the claim.
                certain = answer == "sat" and step + 1 == len(formulas.checks)
                result = "refuted" if certain else "unknown"
                result += f" ({answer}: instance {instance}, step {step})"
                break
        if result != "proved":
            break

    seconds = time.monotonic() - start
    print(f"  {name:5} {result}, {count} checks, {seconds:.1f} s", flush=True)
    return result.split()[0]


def mutants(item, options):
    """Refutes the mutants of a property. Returns whether all are refuted, by a solver or a run."""
    print(f"\n{item.name}: {item.rust}")
    if not item.mutants:
        print("  has no mutant")
        return False

    refuted = [killed(item, mutant, options) for mutant in item.mutants]
    return all(refuted)


def killed(item, mutant, options):
    formulas = Formulas()
    item.state(formulas, mutant)
    script = formulas.refutation().scripts()[-1]
    for name, solve in SOLVERS.items():
        if solve(script, min(options.seconds, MUTANT_SECONDS)) == "sat":
            print(f"  {mutant}: refuted by {name}", flush=True)
            return True

    _, failure = runs(item, mutant, MUTANT_RUNS)
    how = f"refuted by a run: {failure}" if failure is not None else "not refuted"
    print(f"  {mutant}: {how}", flush=True)
    return failure is not None


if __name__ == "__main__":
    main()
