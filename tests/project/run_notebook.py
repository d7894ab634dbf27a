"""Run a notebook from the top on a fresh kernel and save its outputs: `run_notebook.py NOTEBOOK [RESULT]`."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

KEPT = ("name", "file_extension", "mimetype")
"""What is saved of the language; the rest changes with the machine."""


def run_notebook(path: Path, result: Path) -> None:
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, resources=folder, coalesce_streams=True, record_timing=False).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    language = notebook.metadata.language_info
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {name: language[name] for name in KEPT}}
    nbformat.write(notebook, result)


if __name__ == "__main__":
    run_notebook(Path(sys.argv[1]), Path(sys.argv[-1]))
