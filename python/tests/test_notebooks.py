"""The notebooks run from start to end."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


@pytest.mark.parametrize("name", ["first_lookup", "schemes_side_by_side"])
def test_a_notebook_runs(name: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    NotebookClient(notebook, startup_timeout=600, timeout=600, kernel_name="python3").execute()
    assert all(cell.get("execution_count") for cell in notebook.cells if cell.cell_type == "code")
