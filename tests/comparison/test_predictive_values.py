"""Score tests of predictive values on the same cases, against R and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import InputError, Panel

ROWS = [[1, 1], [1, 0], [0, 1], [0, 0]]
# Paired1 of R's DTComPair
PANEL = Panel(["y1", "y2"], ROWS, pos=[319, 78, 22, 32], neg=[31, 53, 22, 155])


def leisenring_by_case(panel):
    """Each case by itself: the score of a case, and the sum of its squares."""
    scores = []
    n_first = n_second = right = 0
    cases = []
    for row, pos, neg in zip(panel.rows, panel.pos, panel.neg, strict=True):
        cases += [(*row, 1)] * int(pos) + [(*row, 0)] * int(neg)
    for first, second, label in cases:
        n_first += first
        n_second += second
        right += label * (first + second)

    pooled = right / (n_first + n_second)
    part = n_first / (n_first + n_second)
    for first, second, label in cases:
        scores.append((label - pooled) * (first * (1 - part) - second * part))
    return sum(scores) ** 2 / sum(score**2 for score in scores)


@pytest.mark.parametrize(
    ("metric", "method", "chi_squared"),
    [
        # pv.gs and pv.wgs of DTComPair 1.2.6
        ("precision", "leisenring", 5.7112407047198),
        ("npv", "leisenring", 17.7856702074),
        ("ppv", "kosinski", 5.4658874464210),
        ("npv", "kosinski", 16.5354041432),
    ],
)
def test_score_tests_have_the_statistics_of_dtcompair(metric, method, chi_squared):
    pair = trueness.compare_metric(PANEL, metric, method=method).pairs[0]

    assert pair.statistic**2 == pytest.approx(chi_squared, rel=1e-11)
    assert pair.p_value == pytest.approx(stats.chi2.sf(chi_squared, 1), rel=1e-9)
    assert np.sign(pair.statistic) == np.sign(pair.difference.value)


def test_leisenrings_score_is_a_sum_over_cases():
    panel = Panel(["a", "b"], ROWS, pos=[20, 9, 4, 7], neg=[3, 6, 2, 30])

    pair = trueness.compare_metric(panel, "precision", method="leisenring").pairs[0]

    assert pair.statistic**2 == pytest.approx(leisenring_by_case(panel))


def test_the_interval_stays_that_of_the_difference():
    plain = trueness.compare_metric(PANEL, "precision").pairs[0]
    tested = trueness.compare_metric(PANEL, "precision", method="kosinski").pairs[0]

    assert tested.difference == plain.difference


@pytest.mark.parametrize("name", ["ppv", "precision", "sensitivity"])
def test_a_comparison_shows_the_name_that_was_typed(name):
    comparison = trueness.compare_metric(PANEL, name)

    assert repr(comparison).startswith(f"Comparison ({name}, paired)")
    assert [value.name for value in comparison.values] == [name, name]


def test_a_copy_is_not_different():
    panel = Panel(["a", "b"], [[1, 1], [0, 0]], pos=[8, 2], neg=[3, 9])

    for method in ("leisenring", "kosinski"):
        pair = trueness.compare_metric(panel, "ppv", method=method).pairs[0]
        assert (pair.statistic, pair.p_value) == (0.0, 1.0)


def test_a_test_that_flags_nothing_has_no_predictive_value():
    panel = Panel(["a", "b"], [[1, 0], [0, 0]], pos=[8, 2], neg=[3, 9])

    pair = trueness.compare_metric(panel, "ppv", method="kosinski").pairs[0]

    assert np.isnan(pair.p_value)


def test_other_metrics_and_designs_are_refused():
    with pytest.raises(InputError, match="predictive values"):
        trueness.compare_metric(PANEL, "recall", method="kosinski")

    weighted = trueness.panel(
        [1, 0, 1, 0], {"a": [1, 0, 1, 1], "b": [1, 1, 0, 0]}, weight=[1, 2, 1, 3]
    )

    with pytest.raises(InputError, match="weight"):
        trueness.compare_metric(weighted, "precision", method="leisenring")

    at_prevalence = PANEL.with_design(prevalence=0.1)

    with pytest.raises(InputError, match="prevalence"):
        trueness.compare_metric(at_prevalence, "npv", method="kosinski")


def test_kosinskis_test_keeps_its_level():
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(400):
        # both tests have the same PPV, and go together
        label = rng.random(300) < 0.3
        severity = rng.normal(size=300) + 1.5 * label
        tests = {
            name: (severity + rng.normal(size=300) > 1).astype(int) for name in "ab"
        }
        comparison = trueness.compare_metric(
            label.astype(int), tests, metric="precision", method="kosinski"
        )
        p_values.append(comparison.pairs[0].p_value)

    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09


def test_ratios_hold_where_only_flagged_cases_were_verified():
    everyone = trueness.compare_metric(PANEL, "recall", effect="ratio")
    # those that neither test flags have no label
    partly = Panel(
        ["y1", "y2"],
        ROWS,
        pos=[319, 78, 22, 0],
        neg=[31, 53, 22, 0],
        unknown=[0, 0, 0, 187],
    )

    verified = trueness.compare_metric(partly, "recall", effect="ratio")

    ratio = verified.pairs[0].ratio

    assert ratio.value == pytest.approx(everyone.pairs[0].ratio.value)
    # the size of the sample enters by n / (n - 1) and by Student's quantile alone
    assert ratio.ci == pytest.approx(everyone.pairs[0].ratio.ci, rel=1e-3)
    assert "hold for all cases" in verified.notes[0]
    assert not any("verified" in note for note in everyone.notes)
