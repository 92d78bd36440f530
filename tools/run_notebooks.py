"""Runs notebooks, and stores their output in them: `make notebooks`."""

import sys

import nbformat
from nbclient import NotebookClient

for path in sys.argv[1:]:
    notebook = nbformat.read(path, as_version=4)
    # Times of cells would differ in every run.
    NotebookClient(notebook, record_timing=False).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    # The interpreter's version is that of whoever ran it.
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, path)
