"""Every equation, table and figure of the five papers is what its page says."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "papers"
sys.path.insert(0, str(FOLDER))
import items  # noqa: E402 - beside the pages; documentation is no package
import make  # noqa: E402

FIGURES = [(name, stem) for name in make.NAMES for stem in make.figures_of(name)]


@pytest.mark.slow
@pytest.mark.parametrize("name", make.NAMES)
def test_the_tables_of_a_page_are_what_its_calls_give(name):
    """Type make papers when this fails, and look at what has changed."""
    assert make.file_of(name).read_text(encoding="utf-8") == make.text_of(name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stem"), FIGURES)
def test_the_figures_of_a_page_are_drawn(name, stem, tmp_path):
    drawn = make.draw(stem, tmp_path)
    assert drawn.stat().st_size > 1000


@pytest.mark.parametrize("name", make.NAMES)
def test_a_page_includes_its_tables_and_its_setup(name):
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert f"tables/{name}.inc" in page
    assert make.paper_of(name).setup in page


@pytest.mark.parametrize("name", make.NAMES)
def test_whatever_is_corrected_or_left_out_has_a_reason(name):
    for item in make.paper_of(name).items:
        assert item.verdict == items.EQUAL or item.reason, item.place
        assert item.call or item.figure or item.reason, item.place


def test_a_value_that_differs_from_the_paper_is_an_error():
    wrong = items.Item("Eq. 1", "one and one", "1 + 1", printed="3")
    with pytest.raises(items.MismatchError, match=r"Eq\. 1: 1 \+ 1 gives 2"):
        items.check(wrong, {})


def test_a_correction_of_an_equal_value_is_an_error():
    same = items.Item(
        "Eq. 1", "", "1 + 1", printed="2", verdict=items.CORRECTED, reason="none"
    )

    with pytest.raises(items.MismatchError):
        items.check(same, {})
