"""A report that carries its counts."""

import numpy as np
import pytest

import trueness
from trueness.declarations.reading import read_declaration


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(0)
    label = rng.random(800) < 0.4
    return label, rng.random(800) * 0.8 + 0.2 * label


def test_the_counts_of_a_report_are_read_like_those_of_a_declaration(cases, tmp_path):
    page = tmp_path / "report.html"

    trueness.report(*cases, page, evidence=True, at=0.5)

    counts = trueness.tally(trueness.scan(page))
    exact = trueness.tally(*cases)
    assert counts == read_declaration(page).counts
    assert trueness.confusion(counts, 0.5) == trueness.confusion(exact, 0.5)
    assert min(counts.neg.min(), counts.pos.min()) >= 5


def test_a_report_without_evidence_says_so(cases, tmp_path):
    page = tmp_path / "report.html"
    trueness.report(*cases, page)

    with pytest.raises(trueness.InputError, match="A page with its counts"):
        trueness.scan(page)


def test_evidence_is_about_one_score(cases, tmp_path):
    label, score = cases

    with pytest.raises(trueness.InputError, match="one score"):
        trueness.report(
            label, {"a": score, "b": 1 - score}, tmp_path / "r.html", evidence=True
        )
