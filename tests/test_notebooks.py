"""The notebooks are the tutorials and the papers' pages, and run as they stand."""

import doctest
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import notebooks  # noqa: E402 - beside the pages; documentation is no package

LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def sources(book):
    return [(c.cell_type, c.source, c.id) for c in book.cells]


@pytest.mark.parametrize("folder", notebooks.FOLDERS)
def test_every_page_has_a_notebook(folder):
    kept = sorted((notebooks.HERE / folder / "notebooks").glob("*.ipynb"))
    pages = [p for p in notebooks.PAGES if p.parent.name == folder]

    assert kept == [notebooks.file_of(p) for p in pages]
    assert len(kept) >= 5


@pytest.mark.parametrize("page", notebooks.PAGES, ids=lambda p: p.stem)
def test_a_notebook_is_its_page(page):
    """Type python docs/notebooks.py when this fails."""
    notebook = nbformat.read(notebooks.file_of(page), as_version=4)
    nbformat.validate(notebook)

    cells_with_output = [c for c in notebook.cells if c.metadata.get("want")]

    assert sources(notebook) == sources(notebooks.notebook(page))
    assert all(cell.get("outputs") for cell in cells_with_output)


@pytest.mark.slow
@pytest.mark.parametrize("page", notebooks.PAGES, ids=lambda p: p.stem)
def test_a_notebook_runs_and_shows_what_the_page_says(page, tmp_path):
    notebook = notebooks.run(notebooks.notebook(page), tmp_path)
    cells_with_output = [c for c in notebook.cells if c.metadata.get("want")]
    assert cells_with_output

    checker = doctest.OutputChecker()
    for cell in cells_with_output:
        expected = f"{cell.metadata.want}\n"
        output = f"{notebooks.shown(cell)}\n"
        assert checker.check_output(expected, output, LIKE), (expected, output)
