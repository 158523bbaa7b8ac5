"""The report in a real browser: offline, by keyboard, for screen readers, hostile."""

import re
from contextlib import contextmanager

import numpy as np
import pytest

import trueness


def cases(rng, n):
    y = np.arange(n) % 5 < 2
    return y.astype(int), np.round(rng.normal(size=n) + y, 1)


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(3)
    y, a = cases(rng, 400)
    b = 1 / (1 + np.exp(-(a + rng.normal(size=y.size))))
    return trueness.panel(y, {"a": 1 / (1 + np.exp(-a)), "b": np.round(b, 3)})


@pytest.fixture(scope="module")
def path(panel, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "report.html"
    trueness.report(panel, target, subject_to=["recall >= 0.7"])
    return target


@contextmanager
def opened(browser, path, **options):
    """Open a page with the network cut off; nothing may be asked for or complained."""
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    try:
        yield page
        assert asked == [path.as_uri()]
        assert said == []
    finally:
        context.close()


def shown_number(page, name):
    text = page.locator(f"[data-value={name}]").first.inner_text().replace(",", "")
    return float(text.rstrip(" %")) / (100 if text.endswith("%") else 1)


def set_slider(page, value):
    page.locator("#threshold").evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", str(value)
    )


@pytest.mark.parametrize("model", [0, 1])
def test_slider_moves_every_figure_and_numbers_agree_with_the_library(
    browser, path, panel, model
):
    with opened(browser, path) as page:
        page.select_option("#model", str(model))
        name = page.locator("#model option:checked").inner_text()
        last = int(page.locator("#threshold").get_attribute("max"))
        for step in np.linspace(0, last, 9).astype(int):
            set_slider(page, step)
            check_step(page, panel[name])


def check_step(page, tally):
    text = page.locator("[data-value=threshold]").first.inner_text()
    cut = np.inf if text == "above all scores" else float(text)
    c = trueness.sweep(tally)[int((trueness.thresholds(tally) >= cut).sum()) - 1]
    for name in ("tp", "fp", "fn", "tn", "flagged"):
        expected = trueness.flagged(c) if name == "flagged" else getattr(c, name)
        assert shown_number(page, name) == expected
    for name in ("recall", "specificity", "accuracy", "flagged_rate"):
        assert shown_number(page, name) == pytest.approx(
            float(trueness.metric(name)(c)), rel=6e-3
        )
    held = page.locator("[data-meets='0']").inner_text() == "met"
    assert held == bool(trueness.recall(c) >= 0.7)
    for follow, place in marks(page):
        if place is None:
            continue
        for quantity, value in zip(follow, place, strict=False):
            expected = metric(quantity, tally, c, cut)
            assert value == pytest.approx(expected, abs=0.002), quantity
    assert tilted(page) == pytest.approx([trueness.fpr(c), trueness.fnr(c)], abs=0.002)


def number_of(page, selector, attribute):
    return float(page.locator(selector).first.get_attribute(attribute).rstrip("%"))


def test_the_first_screen_flags_more_by_its_own_slider(browser, path, panel):
    with opened(browser, path) as page:
        for thousandths in (100, 450, 900):
            page.locator("#flag").evaluate(
                "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }",
                str(thousandths),
            )

            flagged = shown_number(page, "flagged_rate")
            assert flagged == pytest.approx(thousandths / 1000, abs=0.03)
            across = number_of(page, "svg.plot circle.recall-dot", "cx")
            up = number_of(page, "svg.plot circle.recall-dot", "cy")
            assert across == pytest.approx(100 * flagged, abs=0.06)
            recall = shown_number(page, "recall")
            assert up == pytest.approx(100 - 100 * recall, abs=0.06)


def test_a_click_on_a_curve_sets_the_threshold(browser, path, panel):
    with opened(browser, path) as page:
        svg = page.locator("svg.figure:has(circle[data-x=fpr][data-y=recall])").first
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        before = shown_number(page, "flagged_rate")
        assert page.locator(".hint").is_visible()

        svg.hover(position={"x": 0.75 * box["width"], "y": 0.1 * box["height"]})
        told = page.inner_text("#under-pointer")
        svg.click(position={"x": 0.75 * box["width"], "y": 0.1 * box["height"]})

        assert shown_number(page, "flagged_rate") > before
        flagged = page.locator("[data-value=flagged_rate]").first.inner_text()
        assert f"flags {flagged}" in told
        name = page.locator("#model option:checked").inner_text()
        check_step(page, panel[name])


def test_both_sliders_stand_where_their_words_say(browser, path):
    with opened(browser, path) as page:
        for thousandths in (120, 480, 910):
            set_slider(page, thousandths)
            page.locator("#threshold").press("ArrowRight")

            flagged = shown_number(page, "flagged_rate")
            for slider in ("#threshold", "#flag"):
                value = int(page.locator(slider).input_value())
                assert value == pytest.approx(1000 * flagged, abs=1)


def test_a_pointer_over_the_scores_reads_out_and_shows_where_marks_would_go(
    browser, path
):
    with opened(browser, path) as page:
        svg = page.locator("svg.figure[data-scale=logit], svg.figure:has(.positives)")
        svg.first.scroll_into_view_if_needed()
        box = svg.first.bounding_box()
        shown = "() => document.querySelectorAll('.ghost[visibility=visible]').length"

        svg.first.hover(position={"x": 0.7 * box["width"], "y": 0.4 * box["height"]})
        while_there = page.evaluate(shown)
        told = page.inner_text("#under-pointer")
        page.mouse.move(2, 2)

        assert re.match(r"threshold [\d.]+\nflags .* %\nrecall .* %", told)
        assert while_there >= 3
        assert page.evaluate(shown) == 0


def tilted(page):
    """Heights of the line of the cut at both edges of the cost curve."""
    script = """() => { const e = document.querySelector('[data-left]');
      const svg = e.closest('svg.figure'), h = svg.viewBox.baseVal.height;
      const [, , y0, y1] = svg.dataset.ranges.split(' ').map(Number);
      const up = (n) => y0 + (h - 46 - e.getAttribute(n)) / (h - 58) * (y1 - y0);
      return [up('y1'), up('y2')]; }"""
    return page.evaluate(script)


def metric(name, tally, c, cut):
    if name == "threshold":
        return cut
    if name == "probability":
        curve = trueness.reliability(tally)
        return float(np.interp(cut, curve.score, curve.probability))
    if name == "net_benefit":
        return float(trueness.decision_curve(tally, threshold=[cut]).net_benefit[0])
    if name == "weight":  # without prices both kinds of error weigh the same
        return 0.5
    if name == "weighted_cost":
        return float(trueness.fnr(c) + trueness.fpr(c)) / 2
    if name == "cost":  # without prices a miss weighs neg / pos false alarms
        prices = {"fp": 1.0, "fn": tally.n_neg / tally.n_pos}
        return float(trueness.cost(**prices)(c)) / (tally.n_pos + tally.n_neg)
    return float(trueness.metric(name)(c))


def marks(page):
    """What each moved mark follows, and where it stands, in units of its axes."""
    script = """() => [...document.querySelectorAll('svg.figure [data-x]')].map((e) => {
      const svg = e.closest('svg.figure');
      const [x0, x1, y0, y1] = svg.dataset.ranges.split(' ').map(Number);
      const [left, top, right, bottom] = svg.dataset.plot.split(' ').map(Number);
      const at = (n) => Number(e.getAttribute(n));
      const across = { circle: 'cx', svg: 'x' }[e.tagName] || 'x1';
      let x = x0 + (at(across) - left) / (right - left) * (x1 - x0);
      if (svg.dataset.scale === 'logit') x = 1 / (1 + Math.exp(-x));
      const y = y0 + (bottom - at('cy')) / (bottom - top) * (y1 - y0);
      const hidden = e.getAttribute('visibility') === 'hidden';
      return [[e.dataset.x, e.dataset.y || null], hidden ? null : [x, y]];
    })"""
    found = page.evaluate(script)
    followed = {x for (x, _), _ in found} | {y for (_, y), _ in found}
    assert {"fpr", "recall", "precision", "flagged_rate", "cost"} <= followed
    assert {"threshold", "probability", "net_benefit", "weighted_cost"} <= followed
    return [([n for n in names if n], place) for names, place in found]


@pytest.mark.slow
def test_slider_works_by_keyboard_and_speaks(browser, path):
    with opened(browser, path) as page:
        slider = page.locator("#threshold")
        slider.focus()
        before = slider.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowRight")
        after = slider.get_attribute("aria-valuetext")
        assert before != after
        assert re.match(r"threshold .*: flags .* %, recall .* %, precision", after)
        page.keyboard.press("Home")
        assert "above all scores: flags 0 %" in slider.get_attribute("aria-valuetext")
        page.keyboard.press("End")
        assert "flags 100 %" in slider.get_attribute("aria-valuetext")
        page.locator("#back").press("Enter")
        assert slider.get_attribute("aria-valuetext") == before


@pytest.mark.slow
def test_the_keyboard_reaches_everything_in_reading_order(browser, path):
    with opened(browser, path) as page:
        reached = []
        for _ in range(200):
            page.keyboard.press("Tab")
            at = page.evaluate(
                "() => { const e = document.activeElement;"
                " const box = e.closest('section') || e;"  # text stands beside figures
                " const top = box.getBoundingClientRect().top + scrollY;"
                " return [e.tagName + '#' + e.id, top]; }"
            )
            if at[0] == "BODY#":
                break
            reached.append(at)
        names = [name for name, _ in reached]
        controls = ["SELECT#model", "BUTTON#back", "INPUT#threshold"]
        assert [n for n in names if n in controls] == controls
        shown = page.locator("summary:visible").count()  # not inside of a folded one
        assert names.count("SUMMARY#") == shown
        assert names[0] == "A#"  # skips to the summary
        below = [top for name, top in reached if name == "SUMMARY#"]
        assert below == sorted(below)


def test_figures_and_numbers_are_there_without_scripts(browser, path):
    with opened(browser, path, java_script_enabled=False) as page:
        assert page.locator("svg.figure").count() >= 5
        assert shown_number(page, "recall") >= 0.7
        assert page.locator(".curve.chosen").first.is_visible()


@pytest.fixture(scope="module")
def everything(panel, tmp_path_factory):
    """A report with all sections that cases with labels can have."""
    target = tmp_path_factory.mktemp("report") / "everything.html"
    asked = {"cost": {"fp": 1, "fn": 5}, "groups": {"x": panel, "y": panel}}
    trueness.report(panel, target, subject_to=["recall >= 0.7"], **asked)
    return target


@pytest.fixture(scope="module")
def without_labels(tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "votes.html"
    rows = [[0, 0, 0], [1, 0, 1], [1, 1, 1]]
    votes = trueness.Panel(["s", "t", "u"], rows, unknown=[50, 9, 31])
    trueness.report(votes, target)
    return target


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["everything", "without_labels"])
def test_no_accessibility_violation(browser, which, scheme, request):
    path = request.getfixturevalue(which)
    with opened(browser, path, color_scheme=scheme) as page:
        page.locator("details").evaluate_all("all => all.forEach(d => d.open = true)")
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        found = axe.Axe().run(page)
        wrong = found.response["violations"]
        assert [(v["id"], v["nodes"][0]["html"][:200]) for v in wrong] == []


@pytest.mark.slow
def test_prints_all_of_it_and_no_controls(browser, path):
    with opened(browser, path) as page:
        page.emulate_media(media="print", color_scheme="dark")
        for hidden in ("#threshold", "#back", "nav", "summary"):
            assert not page.locator(hidden).first.is_visible()
        assert page.locator(".readout").is_visible()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)"
        assert page.pdf(format="A4")[:5] == b"%PDF-"


@pytest.fixture(scope="module")
def nine_digits(tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "large.html"
    many = trueness.Tally([0.9, 0.1], pos=[423456789, 5], neg=[7, 523456789])
    trueness.report(many, target)
    return target


@pytest.mark.parametrize("width", [320, 1100, 1400])
def test_nothing_is_wider_than_its_place(browser, path, nine_digits, width):
    wide = """() => [...document.querySelectorAll('.matrix td span')]
      .filter((e) => e.offsetWidth > e.parentElement.clientWidth).length"""
    for one in (path, nine_digits):
        with opened(browser, one, viewport={"width": width, "height": 700}) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(wide) == 0


@pytest.mark.slow
def test_a_large_screen_is_used(browser, everything):
    """On 1,900 pixels the page does not scroll, and text stands beside its figure."""
    size = {"width": 1900, "height": 1000}
    with opened(browser, everything, viewport=size) as page:
        wide = "() => document.documentElement.scrollWidth - innerWidth"
        assert page.evaluate(wide) <= 0
        both = page.locator(".beside:has(> .words + .evidence > .figures)").first
        text, figures = (both.locator(f"> {c}").bounding_box()
                         for c in (".words", ".evidence"))  # fmt: skip
        assert figures["x"] >= text["x"] + text["width"]
        assert abs(figures["y"] - text["y"]) < 60


@pytest.mark.slow
def test_policy_forbids_what_the_page_does_not_need(browser, path):
    text = path.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate(
        "() => { const s = document.createElement('script');"
        " s.textContent = 'window.hacked = 1'; document.body.append(s); }"
    )
    assert page.evaluate("window.hacked") is None
    context.close()
