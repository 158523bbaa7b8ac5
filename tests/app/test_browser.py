"""The workbench in a real browser: every job from drop to download, by keyboard too."""

import json
import re
import signal
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

import trueness
from app.conftest import process, running
from trueness.threshold.sentences import zone_sentences

Error = pytest.importorskip("playwright.sync_api").Error
HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror='window.hacked=1'>",
    "\"' onmouseover='window.hacked=1' x=\"",
    "javascript:window.hacked=1",
    "x" * 3000,
]


@contextmanager
def opened(browser, server, path="/", **options):
    """Open a page with its token; nothing may be asked elsewhere or complained of."""
    context = browser.new_context(accept_downloads=True, **options)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    go_to(page, server, path)
    try:
        if path.startswith("/look?"):
            settled(page)
        yield page
        own = (f"http://{server.own}/", "data:", "blob:")
        assert [url for url in asked if not url.startswith(own)] == []
        assert said == []
    finally:
        context.close()


def go_to(page, server, path):
    """Go to a page as a browser does that has used the token before."""
    remember = f"localStorage.setItem('trueness session', '{server.secret}')"
    page.context.add_init_script(remember)
    page.goto(f"http://{server.own}{path}")
    page.wait_for_selector("header.brand")


def settled(page, seconds=60):
    """Wait until every section is there."""
    done = """() => document.querySelector('[data-section]') &&
      !document.querySelector('[aria-busy]') &&
      [...document.querySelectorAll('section [data-body], details[open] > [data-body]')]
        .every((e) => e.innerHTML || e.closest('#answers').hidden)"""
    until(page, done, seconds)
    time.sleep(0.2)  # what was typed is checked before a section is asked for again
    until(page, done, seconds)


def until(page, condition, seconds=30):
    for _ in range(int(seconds / 0.05)):
        with suppress(Error):  # the page may be on its way to another
            if page.evaluate(condition):
                return
        time.sleep(0.05)
    raise AssertionError(f"never true: {condition}\n{page.inner_text('body')[:2000]}")


def asked_for(page, words):
    """Wait until the address asks for it, and for the answer."""
    until(page, f"() => location.search.includes('{words}')")
    settled(page)


# the page is written in two steps, and its script listens when both are done: what is
# changed or chosen before that is lost
LISTENS = "window.workbench && document.readyState === 'complete'"


def submit(page, change, words):
    """Change a field that sends the form, and wait for the page that answers."""
    until(page, f"() => {LISTENS}")
    change()
    query = "decodeURIComponent(location.search.replaceAll('+', ' '))"
    until(page, f"() => {LISTENS} && {query}.includes({json.dumps(words)})")


def choose_file(page, file):
    """Choose a file to be looked at."""
    until(page, f"() => {LISTENS}")
    page.set_input_files("#file", file)


def problem(page, field, is_there=True):
    """Wait until something is wrong, or no longer, with a field: what is told."""
    hidden = f"document.querySelector('#problem-{field}').hidden"
    until(page, f"() => {'!' if is_there else ''}{hidden}")
    return page.inner_text(f"#problem-{field}")


def shown_number(page, name):
    text = page.locator(f"[data-value={name}]").first.inner_text().replace(",", "")
    return float(text.rstrip(" %")) / (100 if text.endswith("%") else 1)


def is_chosen(page, tally, *objective, **more):
    """The slider stands where the library would cut."""
    best = trueness.best_threshold(tally, *objective, **more).threshold
    assert shown_number(page, "threshold") == pytest.approx(best, rel=1e-11)


def slide(page, which, value):
    page.locator(which).evaluate(
        "(e, v) => { e.value = v; "
        "e.dispatchEvent(new Event('input', { bubbles: true })); }",
        str(value),
    )


def move_to(page, step):
    slide(page, "#threshold", step)
    until(page, f"() => new URLSearchParams(location.search).get('at') === '{step}'")


def downloaded(page, name):
    with page.expect_download() as waiting:
        page.click(f"[data-take='{name}']")
    assert waiting.value.suggested_filename == name
    return Path(waiting.value.path())


def fits(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_from_a_dropped_file_to_the_report(browser, served, small, panel):
    with opened(browser, served) as page:
        page.evaluate(
            """(text) => {
              const data = new DataTransfer();
              data.items.add(new File([text], 'dropped.csv'));
              for (const kind of ['dragover', 'drop'])
                document.dispatchEvent(new DragEvent(kind,
                  { dataTransfer: data, bubbles: true, cancelable: true }));
            }""",
            small.read_text(),
        )
        page.wait_for_url("**/look?file=upload-*")
        page.wait_for_selector("header.brand")
        assert page.locator("h1").inner_text() == "dropped.csv"
        assert page.locator("#label").input_value() == "y"
        settled(page)
        best = trueness.auc(panel["a"])
        assert f"{best.value:.3f}" in page.inner_text("#summary-section")
        text = downloaded(page, "report.html").read_text(encoding="utf-8")
        assert "<title>How good are these classifiers?</title>" in text
        assert "dropped.csv" in text
        for name in ("report.json", "map.json", "flagged.csv", "flagged.parquet"):
            assert downloaded(page, name).stat().st_size > 100
        assert downloaded(page, "threshold-0.png").read_bytes()[1:4] == b"PNG"


def test_one_threshold_moves_through_every_figure(browser, served, panel):
    with opened(browser, served, "/look?file=given") as page:
        page.select_option("#model", "1")
        t = panel[page.locator("#model option:checked").inner_text()]
        # a click on a curve needs numbers that the server has
        assert not page.locator(".hint").is_visible()
        last = int(page.locator("#threshold").get_attribute("max"))
        assert last == len(t)  # every distinct score, and above all
        until(page, "() => document.querySelector('#model').value === '1'")
        settled(page)
        c, cuts = trueness.sweep(t), trueness.thresholds(t)
        for step in np.linspace(1, last, 6).astype(int):
            move_to(page, step)
            at = int((cuts >= shown_number(page, "threshold")).sum()) - 1
            assert at == step
            for count in ("tp", "fp", "fn", "tn"):
                assert shown_number(page, count) == getattr(c, count)[at]
            recall = float(trueness.recall(c[at]))
            assert shown_number(page, "recall") == pytest.approx(recall, rel=6e-3)
            dot = page.locator("circle[data-x=fpr][data-y=recall]").first
            x = (float(dot.get_attribute("cx")) - 54) / 292
            assert x == pytest.approx(float(trueness.fpr(c[at])), abs=0.002)


def test_constraints_as_one_types_with_completion_errors_and_regions(
    browser, served, panel
):
    with opened(browser, served, "/look?file=given") as page:
        assert page.locator("path.forbidden").count() == 0
        box = page.locator("#limit-0")
        box.click()
        page.keyboard.type("rec")
        assert page.locator("#names li").first.inner_text() == "recall"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert box.input_value() == "recall"
        page.keyboard.type(" >= ")
        problem(page, "subject_to_0")
        page.keyboard.type("0.9")
        problem(page, "subject_to_0", is_there=False)
        until(page, "() => document.querySelector('path.forbidden')")
        settled(page)
        is_chosen(page, panel["a"], "youden", "recall >= 0.9")
        assert page.inner_text("[data-meets='0']") == "met"
        move_to(page, 3)
        assert page.inner_text("[data-meets='0']") == "not met"
        assert page.locator("#limit-1").count() == 1  # one more, to go on
        page.locator("#limit-0").fill("recal >= 0.9")
        assert "Did you mean" in problem(page, "subject_to_0")


@pytest.mark.slow
def test_costs_slide_and_reload_and_back_bring_the_state_again(browser, served, panel):
    with opened(browser, served, "/look?file=given") as page:
        page.fill("#objective", "f1")
        page.keyboard.press("Enter")
        asked_for(page, "objective=f1")
        move_to(page, 5)
        cut = page.inner_text("[data-value=threshold]")
        page.reload()
        settled(page)
        assert page.input_value("#objective") == "f1"
        assert page.inner_text("[data-value=threshold]") == cut
        page.go_back()
        until(page, "() => !location.search.includes('objective')")
        settled(page)
        assert page.input_value("#objective") == ""
        slide(page, "#ratio", 1)
        asked_for(page, "cost_fn=10")
        costs = {"minimize": "cost(fp=1, fn=10)"}
        is_chosen(page, panel["a"], **costs)
        slide(page, "#share", -1)
        shown = "document.querySelector('#threshold-section').innerText"
        until(page, f"() => {shown}.includes('for a prevalence of 10.0\u00a0%')")
        settled(page)
        is_chosen(page, panel["a"], **costs, prevalence=0.1)


@pytest.mark.slow
def test_between_a_change_and_its_answer_no_section_poses_as_one(
    browser, served, panel
):
    # the first change asks for everything, the second for one section: both are owed
    with opened(browser, served, "/look?file=given&open=calibrated") as page:
        old = page.locator("#threshold-section").inner_text()
        held = []
        page.route("**/check?**", lambda route: held.append(route))
        marks = """() => [...document.querySelectorAll('[data-body]')]
          .map((e) => e.parentElement).filter((e) => e.tagName === 'SECTION' || e.open)
          .map((e) => e.ariaBusy)"""
        slide(page, "#share", -1)
        until(page, "() => location.search.includes('prevalence=0.1')")
        assert set(page.evaluate(marks)) == {"true"}
        page.locator("#method").select_option("isotonic")
        until(page, "() => location.search.includes('calibrate=isotonic')")
        assert set(page.evaluate(marks)) == {"true"}
        assert page.locator("#threshold-section [data-body].stale").count() == 1
        for route in reversed(held):  # the first question is answered last
            route.continue_()
        page.unroute("**/check?**")
        settled(page)
        assert page.locator("details:not([open]) > .stale").count() == 8
        assert page.locator(".stale").count() == 8  # what nobody has opened
        assert page.locator("#threshold-section").inner_text() != old
        is_chosen(page, panel["a"], maximize="mcc", prevalence=0.1)
        assert "isotonic" in page.inner_text("#calibrated-section")


@pytest.mark.slow
def test_calibrator_plan_and_combiner_can_be_chosen(browser, served, panel):
    path = "/look?file=given&open=calibrated&open=planning&open=ensembles"
    with opened(browser, served, path) as page:
        page.select_option("#method", "platt")
        asked_for(page, "calibrate=platt")
        assert page.input_value("#method") == "platt"
        assert "After calibration" in page.inner_text("#calibrated-section .beside")
        page.fill("#width", "0.02")
        page.keyboard.press("Tab")
        asked_for(page, "half_width=0.02")
        area = trueness.auc(panel["a"]).value
        plan = trueness.plan_auc(auc=area, prevalence=0.4, half_width=0.02)
        assert f"{plan.n:,}" in page.inner_text("#planning-section")
        assert "--calibrate platt" in page.inner_text("[data-line=command]")
        page.select_option("#combiner", "mean-score")
        asked_for(page, "combine=mean-score")
        for section in ("#ensembles-section .answer", "#summary-section"):
            assert "mean-score" in page.inner_text(section)
        fitted = trueness.load_map(downloaded(page, "combiner.json"))
        want = trueness.COMBINERS["mean-score"](panel)
        np.testing.assert_array_equal(fitted(panel.rows), want(panel.rows))


@pytest.mark.slow
def test_two_thresholds_are_asked_for_with_one_click(browser, served, panel):
    with opened(browser, served, "/look?file=given&by=site") as page:
        for key in ("zones", "group-cuts", "prevalence"):
            page.click(f"#{key}-section > summary")
        settled(page)
        page.click("#zones-section [data-asks]")
        # the address is written before the answer is asked for
        until(page, "() => !document.querySelector('#zones-section [data-asks]')")
        asked_for(page, "defer")
        zones = trueness.best_thresholds(
            panel["a"], minimize="cost(fp=1, fn=1.5)", subject_to="defer <= 0.1"
        )
        said = zone_sentences(zones)[0]
        assert said in page.inner_text("#zones-section").replace(
            "\N{NO-BREAK SPACE}", " "
        )
        advice = page.locator("#summary-section dl.answers div", has_text="do?")
        assert said in advice.inner_text().replace("\N{NO-BREAK SPACE}", " ")
        page.click("#group-cuts-section [data-asks]")
        until(page, "() => location.search.includes('recall_gap')")
        page.click("#prevalence-section [data-asks]")
        asked_for(page, "prevalence=0.2%3A0.7")
        said = page.inner_text("#prevalence-section").replace("\N{NO-BREAK SPACE}", " ")
        assert "between 20.0 % and 70.0 %" in said
        assert page.locator("#group-cuts-section table").count() > 0


@pytest.mark.slow
def test_what_cannot_be_met_is_told_as_one_types(browser, served):
    with opened(browser, served, "/look?file=given") as page:
        page.fill("#limit-0", "recall >= 0.99")
        page.fill("#limit-1", " ")
        page.fill("#limit-2", "fpr <= 0.01")
        assert "cannot be met together" in problem(page, "subject_to_2")
        assert page.get_attribute("#limit-2", "aria-invalid") == "true"
        assert not page.inner_text("#problem-subject_to_0")
        page.fill("#limit-2", "fpr <= 0.99")
        problem(page, "subject_to_2", is_there=False)
        settled(page)
        assert page.locator("#threshold").count() == 1


@pytest.mark.slow
def test_one_wrong_field_is_told_once_and_there(browser, served, tmp_path):
    path = tmp_path / "words.csv"
    rows = [f"{'red' if k % 3 else 'blue'},{k % 7 / 7},{k % 5 / 5}" for k in range(60)]
    path.write_text("y,a,b\n" + "\n".join(rows) + "\n")
    with opened(browser, served) as page:
        choose_file(page, path)
        page.wait_for_url("**/look?file=upload-*")
        page.goto(f"{page.url}&label=y&column=a&column=b")
        page.wait_for_selector("#problem-positive:not([hidden])")
        assert "choose which one counts as positive" in page.inner_text("#main, #state")
        assert page.locator(".problem:visible").count() == 1
        assert page.get_attribute("#positive", "aria-invalid") == "true"
        assert page.locator("h2:visible").all_inner_texts()[-1] == "Download"
        submit(page, lambda: page.select_option("#positive", "red"), "positive=red")
        settled(page)
        assert page.locator(".problem:visible").count() == 0


@pytest.mark.slow
def test_a_question_is_answered_when_somebody_opens_it(browser, served):
    with opened(browser, served, "/look?file=given&level=0.8") as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        assert not page.locator("#comparison-section [data-body]").is_visible()
        page.click("#comparison-section > summary")
        settled(page)
        sent = {re.search(r"/section/([a-z-]+)", u)[1] for u in asked if "/sec" in u}
        assert sent == {"comparison", "summary"}  # which says the headline, too
        assert "higher than" in page.inner_text("#comparison-section [data-body]")
        page.reload()  # the address says what is open
        settled(page)
        assert page.locator("#comparison-section table").first.is_visible()


@pytest.mark.slow
def test_a_table_of_verdicts_is_judged(browser, served, verdicts):
    with opened(browser, served) as page:
        choose_file(page, verdicts)
        page.wait_for_url("**/look?file=upload-*")
        chosen = {"kind": "judges", "label": "human", "positive": "True",
                  "verdict": "said", "column": "judge", "item": "item",
                  "system": "system", "labelled": "random"}  # fmt: skip
        for field, value in chosen.items():
            select = partial(page.select_option, f"#{field}", value)
            submit(page, select, f"{field}={value}")
        page.fill("#yes", "pass")
        page.keyboard.press("Enter")
        asked_for(page, "yes=pass")
        words = page.inner_text("#judges-section")
        assert "Differences of the corrected rates" in words
        assert "--verdict said --item item" in page.inner_text("[data-line=command]")


@pytest.mark.slow
def test_a_section_that_comes_late_leaves_the_slider_where_it_was_moved(
    browser, served
):
    with opened(browser, served, "/look?file=given") as page:
        late, holds = {}, [True]

        def hold(route):
            path, _, query = route.request.url.partition("?")
            if holds[0] and "quick" not in query:
                late[path.rpartition("/")[2]] = route
            else:
                route.continue_()

        page.route(re.compile("/section/threshold|/at[?]"), hold)
        page.goto(f"http://{served.own}/look?file=given&level=0.91")
        while len(late) < 2:
            page.wait_for_timeout(50)
        slide(page, "#threshold", 4)
        holds[0] = False
        late["threshold"].continue_()
        page.wait_for_selector("[data-section=threshold]:not([aria-busy])")
        late["at"].continue_()
        settled(page)
        assert page.locator("#threshold").input_value() == "4"
        until(page, "() => new URLSearchParams(location.search).get('at') === '4'")


@pytest.mark.slow
def test_the_keyboard_alone_reaches_everything_and_the_slider_speaks(browser, served):
    with opened(browser, served, "/look?file=given&open=calibrated") as page:
        slider = page.locator("#threshold")
        slider.focus()
        before = slider.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowRight")
        said = "() => document.querySelector('#threshold').getAttribute("
        until(page, f"{said}'aria-valuetext') !== {before!r}")
        after = slider.get_attribute("aria-valuetext")
        assert re.match(r"threshold .*: flags .* %, recall .* %, precision", after)
        at = """() => { const e = document.activeElement;
          return e === document.body ? '' : e.tagName + '#' + e.id; }"""
        reached = set()
        for _ in range(250):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(at))
        assert reached >= {
            "SELECT#label", "INPUT#objective", "INPUT#limit-0", "INPUT#ratio",
            "INPUT#threshold", "SELECT#model", "SELECT#method",
        }  # fmt: skip


def axe(page):
    runner = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = runner.run(page)
    return [
        (v["id"], v["nodes"][0]["html"][:200]) for v in found.response["violations"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/look?file=nothing",
        "/look?file=given&by=site&subject_to=recall+%3E%3D+0.7&prevalence=0.1",
        "/look?file=given&by=site&subject_to=defer+%3C%3D+0.2&prevalence=0.2%3A0.6"
        "&subject_to=recall_gap+%3C%3D+0.2&combine=mean-score",
        "/look?file=given&subject_to=recall+%3E%3D+1&subject_to=fpr+%3C%3D+0",
        "/look?file=given&label=nobody",
        "/look?file=given&subject_to=recal+%3E+1",
        "/look?file=sample:hiv",
        "/look?file=sample:leaves",
        "/look?file=sample:judges&kind=judges&label=human",
        "/look?file=sample:judges&kind=judges&label=human&verdict=internlm2_20b",
        "/look?file=sample:judges&kind=judges&label=human&column=internlm2_20b"
        "&column=skywork_gemma_27b&labelled=random",
    ],
)
def test_no_accessibility_violation_in_any_state(browser, served, path, scheme):
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        go_to(page, served, path)
        if page.locator("[data-section]").count():
            settled(page)
        page.locator("details").evaluate_all("all => all.forEach(d => d.open = true)")
        assert axe(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 3840])
def test_narrow_and_wide_screens(browser, served, width):
    path = "/look?file=given&by=site&subject_to=defer+%3C%3D+0.2"
    with opened(browser, served, path, viewport={"width": width, "height": 9}) as page:
        fits(page, width)
        assert axe(page) == []
        # on a narrow screen the report comes first, and a large one is used
        assert page.locator("#label").is_visible() == (width > 360)
        if width == 360:
            page.locator("summary", has_text="The data").click()
            assert page.locator("#label").is_visible()
            fits(page, 360)
        else:
            assert page.locator("#threshold-section").bounding_box()["width"] > 3000
            for size in (800, 1280):
                fits(page, size)
        page.emulate_media(media="print", color_scheme="dark")
        assert axe(page) == []
        for hidden in ("#state", "#threshold", ".away"):
            assert not page.locator(hidden).first.is_visible()
        assert page.locator(".readout").is_visible()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)"


@pytest.mark.slow
def test_leaves_sort_by_a_click(browser, served):
    with opened(browser, served, "/look?file=sample:leaves") as page:
        page.locator("#leaves-section details").evaluate_all(
            "all => all.forEach(e => e.open = true)"
        )
        leaves = page.locator("#leaves-section :not(.figure-table) > .scroll table")
        head = leaves.first.locator("th button", has_text="cases").first
        cells = leaves.first.locator("tbody td:nth-child(2)")
        for falls in (False, True):
            head.click()
            numbers = [int(t.replace(",", "")) for t in cells.all_inner_texts()]
            assert numbers == sorted(numbers, reverse=falls)


@pytest.mark.slow
def test_hostile_names_stay_text(browser, tmp_path):
    rng = np.random.default_rng(5)
    y = np.arange(80) % 2
    frame = pd.DataFrame({n: np.round(rng.normal(size=80) + y, 2) for n in HOSTILE})
    frame["y"] = y
    path = tmp_path / "<img src=x onerror=alert(1)>.csv"
    frame.to_csv(path, index=False)
    with running(path) as server, opened(browser, server) as page:
        choose_file(page, path)
        page.wait_for_url("**/look?file=upload-*")
        page.wait_for_selector("header.brand")
        assert page.input_value("#label") == "y"
        assert "scores" in page.inner_text("#problem-column")
        for box in page.locator("[name=column]").all():
            submit(page, box.check, f"column={box.get_attribute('value')}")
        settled(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        names = page.locator("#model option").all_inner_texts()
        assert len(set(names)) == len(HOSTILE)
        fits(page, 360)


@pytest.mark.slow
def test_long_work_is_stopped_and_begun_again_and_a_second_tab_goes_on(
    browser, served, monkeypatch
):
    from trueness.app import session

    honest, slow = session.QUESTIONS["comparison"], [True]

    def endless(f):
        from trueness._core.progress import steps

        for _ in steps(range(10**6), "Bootstrap"):
            if not slow[0]:
                break
            time.sleep(0.001)
        return honest(f)

    with (
        opened(browser, served, "/look?file=given&level=0.9") as page,
        opened(browser, served, "/look?file=given&level=0.9") as other,
    ):
        monkeypatch.setitem(session.QUESTIONS, "comparison", endless)
        for each in (page, other):
            each.click("#comparison-section > summary")
        until(page, "() => document.querySelector('#comparison-section [data-words]')"
              ".textContent.startsWith('Bootstrap')")  # fmt: skip
        move_to(other, 4)  # the numbers are looked up meanwhile
        page.click("#comparison-section [data-stop]")
        again = page.locator("#comparison-section [data-once-more]")
        again.wait_for()
        slow[0] = False
        again.click()
        settled(page)
        assert "is significantly higher than" in page.inner_text("#comparison-section")
        settled(other)


@pytest.mark.slow
def test_kill_and_restart_with_the_same_state_and_a_wrong_file(browser, small):
    with browser.new_context() as context:
        page = context.new_page()
        with process(small) as (_, server):
            page.goto(server.address)
            settled(page)
            page.fill("#objective", "f1")
            until(page, "() => location.search.includes('objective=f1')")
            state = urlsplit(page.url).query
        with process(small) as (made, server):
            same = f"http://{server.own}/look?{state}"
            page.goto(same)
            until(page, "() => document.querySelector('#opening[role=alert]')")
            assert "copy the new address" in page.inner_text("#opening")
            page.goto(f"{same}#token={server.token}")
            settled(page)
            assert page.input_value("#objective") == "f1"
            page.goto(f"http://{server.own}/")
            wrong = {"name": "wrong.parquet", "mimeType": "", "buffer": b"nothing"}
            choose_file(page, wrong)
            until(page, "() => !document.querySelector('#refused').hidden")
            assert "wrong.parquet" in page.inner_text("#refused")
            made.send_signal(signal.SIGINT)
            said = made.communicate(timeout=20)[1]
    assert "Traceback" not in said
    assert "leaked" not in said
