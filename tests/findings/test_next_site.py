"""What the report says about the next site."""

import numpy as np
import pytest

import trueness
from trueness.findings.next_site import next_site, summary_point
from trueness.findings.page import page_about


@pytest.fixture(scope="module")
def sites():
    rng = np.random.default_rng(0)
    label = (rng.random(1200) < 0.4).astype(int)
    score = np.round(rng.normal(size=1200) + 1.2 * label, 2)
    return trueness.tally(label, score, by=rng.integers(0, 6, 1200))


@pytest.fixture(scope="module")
def whole(sites):
    first, *others = sites.values()
    return sum(others, first)


def section(page):
    (found,) = [f for f in page.findings if f.key == "sites"]
    return found


def test_a_report_with_sites_has_a_section_on_the_next_one(sites, whole):
    found = section(page_about(whole, sites=sites))

    prediction = trueness.across_sites(sites, "auc").prediction
    assert found.numbers["prediction"].low == pytest.approx(prediction.low)
    assert str(found.answer[0]).startswith("At the next site the AUC will lie between")
    assert "next site (prediction interval)" in found.tables[-1].head
    assert found.figures[0].data.names[-1] == "next site (prediction)"


def test_a_report_without_sites_has_none(sites, whole):
    page = page_about(whole, groups=sites)

    assert "sites" not in [f.key for f in page.findings]


def test_the_page_is_drawn_with_it(sites, whole):
    text = trueness.reports.html(whole, sites=sites)

    assert "Does it hold at every site, and at the next one?" in text
    assert "next site (prediction)" in text


def test_few_sites_have_values_and_no_promise(sites, whole):
    few = {name: sites[name] for name in list(sites)[:3]}

    found = section(page_about(whole, sites=few))

    assert "too few to estimate the variance between sites" in str(found.answer[0])
    assert found.numbers["prediction"] is None


def test_findings_of_studies_show_themselves():
    studies = trueness.read_studies(trueness.samples.path("studies"))

    summary = summary_point(trueness.summary_roc(studies, method="normal"))
    recall = next_site(trueness.across_sites(studies, "recall"))

    assert "Over 30 sites the sensitivity is" in repr(summary)
    assert "At the next site the recall will lie between" in repr(recall)
