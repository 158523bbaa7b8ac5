"""Charts become files without a browser, and names in them stay text."""

import altair as alt
import pytest

import trueness

HOSTILE = "</script><img src=x onerror=alert(1)> \"'&"


@pytest.fixture(scope="module")
def chart():
    from trueness.plots._altair import frame, styled

    data = frame({HOSTILE: [1, 2], "y": [0.5, float("nan")]})
    drawn = alt.Chart(data).mark_line().encode(x=alt.X("y:Q"), y=alt.Y("y:Q"))
    return styled(drawn, HOSTILE, f"described {HOSTILE}")


@pytest.mark.parametrize(
    ("ending", "start"),
    [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"{")],
)
def test_formats(chart, tmp_path, ending, start):
    path = tmp_path / f"figure.{ending}"
    trueness.plots.save(chart, path)
    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_html_has_no_script_and_keeps_names_as_text(chart, tmp_path):
    path = tmp_path / "figure.html"
    trueness.plots.save(chart, path)
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img src=x" not in text
    assert "default-src 'none'; img-src data:" in text


def test_html_in_a_browser(chart, tmp_path, browser):
    path = tmp_path / "figure.html"
    trueness.plots.save(chart, path)
    context = browser.new_context(offline=True)
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    image = page.locator("img")
    assert image.count() == 1
    assert image.get_attribute("alt") == f"described {HOSTILE}"
    assert page.evaluate("document.images[0].naturalWidth") > 100
    assert page.title() == HOSTILE
    assert said == []
    context.close()


def test_wrong_ending_is_named(chart, tmp_path):
    with pytest.raises(trueness.InputError, match=r"one of 'svg', 'png'.*found 'gif'"):
        trueness.plots.save(chart, tmp_path / "figure.gif")
    with pytest.raises(trueness.InputError, match="there is no folder"):
        trueness.plots.save(chart, tmp_path / "no" / "figure.svg")


def test_a_notebook_needs_no_network(chart):
    for shown in (chart, chart.properties(width=100)):
        bundle = shown._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg")
        assert "http" not in bundle["image/svg+xml"].replace("http://www.w3.org", "")
        assert bundle["text/html"].startswith("<img alt=")
        assert "<svg" not in bundle["text/html"]
        assert 'src="data:image/svg+xml;base64,' in bundle["text/html"]
