"""The solvers: functions of SMT-LIB text and seconds to "sat", "unsat" or "unknown"."""


def z3(script, seconds):
    import z3 as solver

    instance = solver.Solver()
    instance.set("timeout", int(seconds * 1000))
    instance.from_string(script)
    return str(instance.check())


def cvc5(script, seconds):
    import cvc5 as solver

    instance = solver.Solver(solver.TermManager())
    instance.setOption("tlimit-per", str(int(seconds * 1000)))
    parser = solver.InputParser(instance)
    parser.setStringInput(solver.InputLanguage.SMT_LIB_2_6, script, "check")

    symbols = parser.getSymbolManager()
    answer = ""
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(instance, symbols).strip() or answer
    return answer if answer in ("sat", "unsat") else "unknown"


SOLVERS = {"z3": z3, "cvc5": cvc5}


def version(name):
    from importlib.metadata import version as installed

    return f"{name} {installed({'z3': 'z3-solver'}.get(name, name))}"
