"""The gallery shows every figure, and every line of it runs."""

import sys
from pathlib import Path

import pytest
from matplotlib.axes import Axes

from trueness import plots

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import gallery


@pytest.fixture(scope="module")
def variables():
    return gallery.prepared()


def test_every_figure_is_in_the_gallery():
    drawn = {line.split("(")[0].removeprefix("plots.") for _, line in gallery.lines()}
    assert drawn == set(plots.__all__) - {"save"}


@pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning")
@pytest.mark.parametrize("line", [line for _, line in gallery.lines()])
def test_every_line_draws(line, variables):
    from matplotlib import pyplot

    ax = gallery.draw(line, variables)

    assert isinstance(ax, Axes)

    ax.figure.canvas.draw()
    pyplot.close("all")


def test_the_page_shows_each_line_under_its_picture():
    page = gallery.page()
    for line, name in gallery.names().items():
        assert f"(gallery/{name}.png)" in page
        assert f"`{line}`" in page
