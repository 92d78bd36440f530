"""Lays out the files of an installation, in target/stage: for tarballs, packages and the image.

Usage: tree.py [TRIPLE...]

bin, lib and share are as below /usr/local. Completions and manual pages come from the program that
this machine runs, and are the same for every target.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import elf
import licences
import man
import release

# Where shells look for the completions of a program.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/papir",
    "zsh": "share/zsh/site-functions/_papir",
    "fish": "share/fish/vendor_completions.d/papir.fish",
}
DOCUMENTS = "share/doc/papir"
COPIED = {
    "README.md": DOCUMENTS,
    "CHANGELOG.md": DOCUMENTS,
    "LICENSE-APACHE": DOCUMENTS,
    "LICENSE-MIT": DOCUMENTS,
    "deploy/papir.toml": f"{DOCUMENTS}/examples",
    "deploy/papir.service": "lib/systemd/system",
}


def program(target, stage):
    source = release.existing(target.program())
    elf.expect_static(source.read_bytes(), target.rpm, source)

    out = stage / "bin/papir"
    out.parent.mkdir(parents=True)
    shutil.copyfile(source, out)
    out.chmod(0o755)


def generated(runs, stage):
    """Manual pages and completions."""
    man.write(runs, made(stage / "share/man/man1"))
    for shell, file in COMPLETIONS.items():
        script = subprocess.run([runs, "completions", shell], stdout=subprocess.PIPE, check=True, env={})
        out = stage / file
        made(out.parent)
        out.write_bytes(script.stdout)


def documents(target, stage):
    for name, folder in COPIED.items():
        shutil.copyfile(release.ROOT / name, made(stage / folder) / Path(name).name)

    text, silent = licences.listing("papir-cli", target.triple)
    (stage / DOCUMENTS / "THIRD-PARTY.txt").write_text(text, encoding="utf-8")
    if silent:
        print(f"without a text in their package: {', '.join(silent)}", file=sys.stderr)
    shutil.copyfile(licences.of_rust(), stage / DOCUMENTS / "RUST-LIBRARY.html")


def page(stage):
    """The page of `papir serve --page`, where the program looks for it."""
    built = release.existing(release.ROOT / "target/page")
    shutil.copytree(built, stage / "share/papir/page")


def made(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def normalize(stage):
    """Gives all files the modes and times of a release."""
    for path in sorted(stage.rglob("*"), reverse=True):
        is_open = path.is_dir() or path.parent.name == "bin"
        path.chmod(0o755 if is_open else 0o644)
        os.utime(path, (release.epoch(), release.epoch()))


def main():
    # Programs find no settings of this machine: neither its variables nor its locale.
    runs = release.existing(release.here().program())
    for target in release.chosen(sys.argv[1:]):
        stage = target.stage()
        shutil.rmtree(stage, ignore_errors=True)
        program(target, stage)
        generated(runs, stage)
        documents(target, stage)
        page(stage)
        normalize(stage)
        print(f"{stage}: {sum(1 for path in stage.rglob('*') if path.is_file())} files")


if __name__ == "__main__":
    main()
