"""Attempts at items as evidence: a leaderboard entry that can be checked."""

import copy

import numpy as np
import pytest

import trueness


def attempts(clusters=None):
    rng = np.random.default_rng(0)
    passed = rng.binomial(5, rng.beta(2, 1, 80))
    names = [f"secret question {k}" for k in range(80)]
    return trueness.Attempts(
        names, passed=passed, tried=np.full(80, 5), cluster=clusters
    )


def test_an_entry_follows_and_names_no_item():
    entry = trueness.declare(attempts(), claims=["pass_rate >= 0.5"])

    assert trueness.verify(entry).verdict == "follows"
    assert "secret" not in str(entry.to_dict())
    assert entry.claims[0].verdict == "holds"


def test_clusters_of_items_are_numbered():
    clusters = [f"repository {k % 9}" for k in range(80)]

    entry = trueness.declare(attempts(clusters))

    assert trueness.verify(entry).verdict == "follows"
    assert "repository" not in str(entry.to_dict())
    rate = next(m for m in entry.measured if m.measure == "pass_rate")
    expected = trueness.pass_rate(attempts(clusters))
    assert rate.low == pytest.approx(expected.low, abs=1e-4)


@pytest.mark.parametrize("column", ["passed", "tried", "items"])
def test_a_changed_count_is_named(column):
    content = trueness.declare(attempts(), claims="pass_rate >= 0.5").to_dict()
    forged = copy.deepcopy(content)
    forged["evidence"]["attempts"][column][2] += 1

    assert trueness.verify(content)
    assert not trueness.verify(forged)


def test_the_page_of_an_entry_follows(tmp_path):
    page = tmp_path / "entry.html"

    trueness.declare(attempts(), page)

    assert trueness.verify(page)
    assert "80 items were tried 400 times" in page.read_text()


def test_the_script_of_the_page_checks_rates(browser, tmp_path):
    page_file = tmp_path / "entry.html"
    trueness.declare(attempts(), page_file)
    forged = tmp_path / "forged.html"
    text = page_file.read_text()
    forged.write_text(text.replace('"passed":[0,', '"passed":[1,'))
    context = browser.new_context(offline=True)
    page = context.new_page()

    page.goto(page_file.as_uri())
    honest = page.locator("#check").inner_text()
    page.goto(forged.as_uri())
    changed = page.locator("#check").inner_text()

    assert honest.startswith("Your browser has checked this page: 5 of its")
    assert changed.startswith("Does not follow from the counts: pass_rate")
