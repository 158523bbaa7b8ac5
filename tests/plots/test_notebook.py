"""A figure shows itself in a notebook, without a magic line."""

import base64

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CODE = """
import trueness
trueness.plots.roc([0, 1, 0, 1, 1], [0.1, 0.4, 0.35, 0.8, 0.2])
"""


@pytest.mark.slow
def test_a_figure_shows_itself_in_a_notebook():
    notebook = nbformat.v4.new_notebook()
    notebook.cells.append(nbformat.v4.new_code_cell(CODE))

    nbclient.NotebookClient(notebook, timeout=120).execute()

    outputs = notebook.cells[0].outputs
    images = [o.data["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(images) == 1
    assert base64.b64decode(images[0]).startswith(b"\x89PNG")
