"""Manual pages of the program and of its subcommands, from their `--help`.

Usage: man.py PROGRAM FOLDER

Runs the program on this machine, and writes papir.1, papir-build.1, papir-checkpoint-keygen.1 and so
on into the folder. The program has no command for that: its help is the only text to keep right.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import release

HEADING = re.compile(r"([A-Z][A-Za-z ]*):")
# An option or argument, with its description beside it in short help.
OPTION = re.compile(r"(?: {2}| {6})([-<\[].*?)(?: {2,}(\S.*))?")
COMMAND = re.compile(r" {2}([a-z][a-z0-9-]*)(?: {2,}(\S.*))?")
# Sections of lists; every other one is printed as it stands.
LISTS = {"Options": OPTION, "Arguments": OPTION, "Commands": COMMAND}
VALUE = re.compile(r"- ([^:]+?)(?:: +(\S.*))?")


def help_of(program, words):
    """The help of a subcommand, unwrapped, and without variables of this machine."""
    run = subprocess.run(
        [program, *words, "--help"], env={"COLUMNS": "100000"}, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", check=False,
    )
    if run.returncode != 0:
        sys.exit(f"{program} {' '.join(words)} --help: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


def sections(text):
    """The text before the first heading, and pairs of heading and lines."""
    about, found = [], []
    for line in text.rstrip().splitlines():
        heading = HEADING.fullmatch(line)
        if heading:
            found.append((heading[1], []))
        elif line.startswith("Usage: "):
            found.append(("Usage", [line.removeprefix("Usage: ")]))
        elif found:
            found[-1][1].append(line)
        else:
            about.append(line)
    return about, found


def paragraphs(lines):
    """Texts of lines between blank ones."""
    text = "\n".join(line.strip() for line in lines).strip()
    return [part for part in re.split(r"\n{2,}", text) if part]


def entries(pattern, lines):
    """Pairs of an entry's name and the lines about it."""
    found = []
    for line in lines:
        entry = pattern.fullmatch(line)
        if entry:
            found.append((entry[1], [entry[2] or ""]))
        elif found:
            found[-1][1].append(line)
    return found


def escaped(text):
    """A line of text for roff: no escapes, no requests, hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def described(lines):
    """The description of an entry, as roff."""
    out = []
    for part in paragraphs(lines):
        values = [VALUE.fullmatch(line) for line in part.splitlines()]
        if part.startswith("Possible values:"):
            out += ["Possible values:"]
            values = values[1:]
        if values and all(values):
            out += [".RS"]
            for value in values:
                meaning = f": {value[2]}" if value[2] else ""
                out += [".IP \\(bu 2", escaped(value[1] + meaning)]
            out += [".RE", ".IP"]
            continue

        # A variable's value is this machine's, and empty here.
        text = re.sub(r"\[env: (\w+)=\]", r"[env: \1]", part)
        out += [escaped(line) for line in text.splitlines()] + [".IP"]
    return out[:-1] if out and out[-1] == ".IP" else out


def listed(pattern, lines):
    out = []
    for name, about in entries(pattern, lines):
        out += [".TP", f"\\fB{escaped(name)}\\fR", *(described(about) or ["\\&"])]
    return out


def literal(lines):
    indented = [line.removeprefix("  ") for line in lines]
    text = "\n".join(indented).strip("\n").splitlines()
    return [".nf", *(escaped(line) for line in text), ".fi"]


def page(words, text):
    """A manual page in roff."""
    about, rest = sections(text)
    texts = paragraphs(about)
    name = "-".join(["papir", *words])
    title = f"papir {release.version()}"
    day = time.strftime("%Y-%m-%d", time.gmtime(release.epoch()))

    out = [f'.TH "{name.upper()}" 1 "{day}" "{title}" "papir"', ".SH NAME"]
    out += [f"{escaped(name)} \\- {escaped(' '.join(texts[:1]).rstrip('.'))}"]
    for heading, lines in rest:
        if heading == "Usage":
            out += [".SH SYNOPSIS", *literal(lines), ".SH DESCRIPTION"]
            for part in texts or [name]:
                out += [".PP", *(escaped(line) for line in part.splitlines())]
            continue

        out += [f".SH {heading.upper()}"]
        pattern = LISTS.get(heading)
        out += listed(pattern, lines) if pattern else literal(lines)

    above = "-".join(["papir", *words[:-1]]) if words else None
    below = [f"{name}-{word}" for word in subcommands(text)]
    related = [other for other in [above, *below] if other]
    if related:
        out += [".SH SEE ALSO", ",\n".join(f"\\fB{escaped(other)}\\fR(1)" for other in related)]
    return "\n".join(out) + "\n"


def subcommands(text):
    """The names of subcommands that have a page."""
    for heading, lines in sections(text)[1]:
        if heading == "Commands":
            return [name for name, _ in entries(COMMAND, lines) if name != "help"]
    return []


def write(program, folder, words=()):
    """Writes the page of a subcommand, and those of its own ones. Returns their number."""
    words = list(words)
    text = help_of(program, words)
    name = "-".join(["papir", *words])
    (folder / f"{name}.1").write_text(page(words, text), encoding="utf-8")
    return 1 + sum(write(program, folder, [*words, below]) for below in subcommands(text))


def main():
    program, folder = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    count = write(program, folder)
    print(f"{folder}: {count} manual pages")


if __name__ == "__main__":
    main()
