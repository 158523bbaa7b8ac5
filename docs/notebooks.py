"""Make notebooks of the tutorials and of the papers, with what they print.

    python docs/notebooks.py [tutorials] [papers]

A page is the source. Its prose becomes cells of Markdown, its examples cells of code,
one for each output; commands of the shell stay text, and a file that a page includes is
part of its prose. ``tests/test_notebooks.py`` compares the notebooks with the pages and
runs them.
"""

import doctest
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
FOLDERS = ("tutorials", "papers")
PAGES = [
    page
    for folder in FOLDERS
    for page in sorted((HERE / folder).glob("*.md"))
    if page.stem != "index"
]
_FIGURE = re.compile(r"!\[([^\]]*)\]\(\.\./_generated/[^)]*\)")
_INCLUDE = re.compile(r"^```\{include\} (\S+)\n```\n", re.MULTILINE)
_BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def file_of(page: Path) -> Path:
    """Return the notebook of a page."""
    return page.parent / "notebooks" / f"{page.stem}.ipynb"


def _with_included(page: Path) -> str:
    """Return the text of a page, with the files that it includes."""

    def included(match: re.Match[str]) -> str:
        return (page.parent / match[1]).read_text(encoding="utf-8")

    return _INCLUDE.sub(included, page.read_text(encoding="utf-8"))


def notebook(page: Path) -> Any:
    """Turn a page into a notebook; ``metadata.want`` of a cell is what it must show."""
    cells, end, text = [], 0, _with_included(page)
    for block in _BLOCK.finditer(text):
        cells += _prose(text[end : block.start()])
        cells += _code(block[1], block[2])
        end = block.end()
    book = nbformat.v4.new_notebook(cells=cells + _prose(text[end:]))
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    for k, cell in enumerate(book.cells):  # the same page gives the same file
        cell.id = hashlib.sha256(f"{k} {cell.source}".encode()).hexdigest()[:8]
    return book


def _prose(text: str) -> list[Any]:
    # figures of the site are drawn when it is built: a notebook has their words
    text = _FIGURE.sub(r"*Figure on the page: \1.*", text)
    return [nbformat.v4.new_markdown_cell(text.strip())] if text.strip() else []


def _code(kind: str, text: str) -> list[Any]:
    if kind == "python":
        return [_cell(text, "")]
    cells, source = [], ""
    for example in doctest.DocTestParser().get_examples(text):
        source += example.source
        if example.want:  # a cell shows its last line only
            cells.append(_cell(source, example.want))
            source = ""
    return cells + ([_cell(source, "")] if source else [])


def _cell(source: str, want: str) -> Any:
    return nbformat.v4.new_code_cell(source.strip(), metadata={"want": want.strip()})


def shown(cell: Any) -> str:
    """Give what a cell has printed, as a terminal would show it."""
    parts = []
    for output in cell.outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        parts.append(text.strip())
    return "\n".join(parts)


def run(book: Any, folder: Path) -> Any:
    """Run all cells in a kernel of their own, in this folder."""
    client = NotebookClient(book, timeout=300, resources={"metadata": {"path": folder}})
    client.execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # the time of day is no result
    return book


def _without_pages(book: Any) -> None:
    """Drop whole reports from the outputs: the file that is kept stays small."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if len(output.get("data", {}).get("text/html", "")) > 20_000:
                del output.data["text/html"]


if __name__ == "__main__":
    import tempfile

    wanted = sys.argv[1:] or FOLDERS
    for page in PAGES:
        if page.parent.name not in wanted:
            continue
        file_of(page).parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            book = run(notebook(page), Path(folder))
        book.metadata.pop("language_info", None)  # the version of one's Python
        _without_pages(book)
        nbformat.write(book, file_of(page))
        sys.stdout.write(f"{file_of(page).name}\n")
