"""The examples run, at a small size."""

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_changing_state_is_looked_up(tmp_path: Path) -> None:
    example = [sys.executable, str(EXAMPLES / "changing_state.py")]
    size = ["--keys", "5000", "--changes", "50", "--every", "2", "--minutes", "0.1"]
    subprocess.run([*example, "run", str(tmp_path), "--papir", os.environ["PAPIR"], *size], check=True)
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["lookups"] and len(record["fresh"]) == 3
    assert not record["wrong"] and not record["errors"]
    figure = tmp_path / "figure.svg"
    subprocess.run([*example, "draw", str(tmp_path / "record.json"), str(figure)], check=True)
    assert figure.read_text().count("<path") > 10
