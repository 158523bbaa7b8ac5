"""Figure data of judges: raw and corrected rates, accuracies, errors, labels."""

from typing import NamedTuple

import numpy as np
import pytest

import trueness
from trueness.nogold import figures

CASES = 500
LABELLED = 200


class Judged(NamedTuple):
    """A panel of three judges, of whom the first two share their luck at times."""

    panel: trueness.Panel
    verdicts: np.ndarray  # of the labelled cases
    is_good: np.ndarray


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(8)
    is_good = rng.random(CASES) < 0.7
    luck = rng.random((CASES, 3))
    luck[:, 1] = np.where(rng.random(CASES) < 0.5, luck[:, 0], luck[:, 1])
    verdicts = np.where(is_good[:, None], luck < 0.85, luck < 0.3).astype(float)
    verdicts[:20, 2] = np.nan
    labels = np.where(np.arange(CASES) < LABELLED, is_good, np.nan)
    panel = trueness.panel(labels, dict(zip("abc", verdicts.T, strict=True)))
    return Judged(panel, verdicts[:LABELLED], is_good[:LABELLED])


def correlation_within_classes(first, second, is_good):
    """Correlate two judges after the mean of the own class is taken away."""
    both = ~np.isnan(first) & ~np.isnan(second)
    first = first[both]
    second = second[both]
    for label in (True, False):
        of_class = is_good[both] == label
        first[of_class] -= first[of_class].mean()
        second[of_class] -= second[of_class].mean()
    return np.corrcoef(first, second)[0, 1]


@pytest.mark.parametrize(("i", "j"), [(0, 1), (0, 2), (1, 2)])
def test_errors_that_go_together_slow_twin(judged, i, j):
    expected = correlation_within_classes(
        judged.verdicts[:, i], judged.verdicts[:, j], judged.is_good
    )

    figure = figures.errors_figure(judged.panel)

    assert figure.value[i, j] == pytest.approx(expected)


def test_judges_that_share_their_luck_stand_out(judged):
    figure = figures.errors_figure(judged.panel)

    assert figure.value[0, 1] > 0.3
    assert abs(figure.value[0, 2]) < 0.3


def test_a_judge_that_never_errs_has_no_correlation():
    panel = trueness.panel([1, 1, 0, 0], {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]})

    assert np.isnan(figures.errors_figure(panel).value[0, 1])


def test_judges_in_the_plane(judged):
    rate = trueness.prevalence(judged.panel, labelled="random")

    figure = figures.judges_figure(rate)

    row = figure.names.index("a")
    judge = rate.judges["a"]
    assert figure.up[row, 0] == judge.sensitivity.value
    assert figure.across[row, 0] == pytest.approx(1 - judge.specificity.value)


def test_the_crosses_of_judges_have_their_value_within_the_ends(judged):
    rate = trueness.prevalence(judged.panel, labelled="random")

    value, low, high = figures.judges_figure(rate).across.T

    assert (low < value).all()
    assert (value < high).all()


def test_graded_judges_have_no_place_in_the_plane():
    rng = np.random.default_rng(0)
    labels = rng.random(60) < 0.5
    grades = np.round(labels + rng.normal(size=60), 2)
    panel = trueness.panel(labels, {"grade": grades})
    rate = trueness.prevalence(panel, labelled="random")

    with pytest.raises(trueness.NotEnoughCases, match="give grades"):
        figures.judges_figure(rate)
