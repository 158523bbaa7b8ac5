"""Figures become files, and names in them stay text."""

import html
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness import plots

HOSTILE = "</script><img src=x onerror=alert(1)> \"'&"
COLUMN_OF_A_JOURNAL = 3.5  # inches


@pytest.fixture(scope="module")
def figure():
    rng = np.random.default_rng(0)
    y = rng.random(80) < 0.4
    scores = {HOSTILE: rng.normal(y, 1), "b": rng.normal(size=80)}
    return plots.roc.figure_data(trueness.panel(y, scores), title=HOSTILE)


@pytest.mark.parametrize(
    ("ending", "start"),
    [("svg", b"<svg"), ("html", b"<!doctype"), ("png", b"\x89PNG"), ("pdf", b"%PDF")],
)
def test_the_ending_decides_the_format(figure, tmp_path, ending, start):
    path = tmp_path / f"figure.{ending}"

    plots.save(figure, path)

    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_png_has_print_size(figure, tmp_path):
    plots.save(figure, tmp_path / "figure.png")
    with pytest.importorskip("PIL.Image").open(tmp_path / "figure.png") as image:
        assert image.width == pytest.approx(300 * COLUMN_OF_A_JOURNAL, abs=1)
        assert image.info["dpi"][0] == pytest.approx(300, abs=1)


def test_html_has_no_script_and_keeps_names_as_text(figure, tmp_path):
    path = tmp_path / "figure.html"
    plots.save(figure, path)
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img src=x" not in text
    assert "default-src 'none'" in text
    assert "<table>" in text


def test_html_shows_the_numbers_under_the_pointer(figure, tmp_path, browser):
    path = tmp_path / "figure.html"
    plots.save(figure, path)
    context = browser.new_context(offline=True)
    page = context.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(path.as_uri())
    point = page.locator("g.point").last
    readout = point.locator(".readout").first
    assert not readout.is_visible()

    box = point.locator(".catch").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    assert readout.is_visible()
    assert "threshold" in readout.text_content()
    assert page.title() == HOSTILE
    assert messages == []
    context.close()


def every_kind(rng):
    """Return figure data of each kind, by name."""
    y = rng.random(200) < 0.4
    scores = {"a": rng.normal(y, 1).round(2), "b": rng.normal(size=200).round(2)}
    panel = trueness.panel(y, scores)
    judges = pd.read_csv(trueness.samples.path("judges"))
    names = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
    verdicts = trueness.panel(judges, label="human", scores=names)
    studies = trueness.read_studies(trueness.samples.path("studies"))
    return {
        "curves with dots": plots.operating_point.figure_data(panel["a"], "f1"),
        "curves without lines": plots.identity.figure_data(
            [1, 2], [1.5, 4], x_title="a", y_title="b"
        ),
        "joined panels": plots.reliability.figure_data(
            panel["a"].map(lambda s: 1 / (1 + np.exp(-s))), replicates=20
        ),
        "panels": plots.fermi_parameters.figure_data(50),
        "bars of several": plots.score_distributions.figure_data(panel),
        "intervals": plots.site_forest.figure_data(
            trueness.across_sites(studies, "recall")
        ),
        "regions": plots.summary_plane.figure_data(
            trueness.summary_roc(studies, method="normal")
        ),
        "crosses": plots.judge_plane.figure_data(
            trueness.prevalence(verdicts, labelled="random")
        ),
        "matrix": plots.judge_errors.figure_data(verdicts),
        "special ticks": plots.det.figure_data(panel),
    }


def test_every_kind_of_figure_is_well_formed_svg(rng, tmp_path):
    for name, figure in every_kind(rng).items():
        path = tmp_path / "figure.svg"
        plots.save(figure, path)
        root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314
        assert root.tag.endswith("svg"), name
        assert '="nan' not in path.read_text(encoding="utf-8"), name


def test_every_row_of_a_forest_is_in_the_file(rng, tmp_path):
    figure = every_kind(rng)["intervals"]
    plots.save(figure, tmp_path / "sites.svg")
    text = (tmp_path / "sites.svg").read_text(encoding="utf-8")
    assert len(figure.data.names) > 20
    # a long name stands in several lines, one under the other
    lines = re.findall(r'class="name(?: second)?"[^>]*>([^<]*)<', text)
    names = html.unescape(" ".join(lines))
    missing = [name for name in figure.data.names if name not in names]
    assert missing == []


def test_wrong_input_is_named(figure, tmp_path):
    with pytest.raises(trueness.InputError, match="found 'gif'"):
        plots.save(figure, tmp_path / "figure.gif")
    with pytest.raises(trueness.InputError, match="there is no folder"):
        plots.save(figure, tmp_path / "no" / "figure.svg")
    with pytest.raises(trueness.InputError, match="figure_data") as caught:
        plots.save("roc", tmp_path / "figure.svg")
    assert caught.value.option == "figure"
