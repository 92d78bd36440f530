"""Certificates of failure bounds of databases that the package builds, checked by scripts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pypapir

REFERENCE = Path(__file__).parents[1] / "reference"
WORDS = [{"word": f"word {i}", "meaning": f"meaning {i}"} for i in range(300)]


def run(script: str, *files: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script of the folder `reference` over certificates."""
    command = [sys.executable, "-B", str(REFERENCE / script), *map(str, files)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("scheme", ["inspire", "inspire1", "simple", "download"])
def test_a_certificate_is_accepted_and_an_altered_one_is_refused(scheme: str, tmp_path: Path) -> None:
    database, bound = tmp_path / "w.papir", tmp_path / "bound.json"
    pypapir.build(WORDS, database, key="word", value="meaning", scheme=scheme)
    subprocess.run([os.environ["PAPIR"], "inspect", database, "--certificate", bound], check=True)

    accepted = run("certificate.py", bound)
    assert accepted.returncode == 0, accepted.stderr
    assert f": {scheme}: an answer" in accepted.stdout

    altered = run("certificate_mutations.py", bound)
    assert altered.returncode == 0, altered.stdout + altered.stderr

    other = tmp_path / "other.json"
    other.write_text(bound.read_text().replace('"asked_bits": "40"', '"asked_bits": "39"'))
    refused = run("certificate.py", other)
    assert refused.returncode == 1
    assert "40 to 128" in refused.stderr
