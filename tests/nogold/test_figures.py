"""Figure data of judges: raw and corrected rates, accuracies, errors, labels."""

import numpy as np
import pytest

import trueness
from trueness.nogold import figures


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(8)
    n = 500
    good = rng.random(n) < 0.7
    luck = rng.random((n, 3))
    luck[:, 1] = np.where(rng.random(n) < 0.5, luck[:, 0], luck[:, 1])
    x = np.where(good[:, None], luck < 0.85, luck < 0.3).astype(float)
    x[:20, 2] = np.nan
    known = np.where(np.arange(n) < 200, good, np.nan)
    p = trueness.panel(known, {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})
    return p, x[:200], good[:200], trueness.prevalence(p, labelled="random")


def test_errors_that_go_together_slow_twin(judged):
    p, x, good, _ = judged
    found = figures.errors_figure(p)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(x[:, [i, j]]).any(axis=1)
        a, b = x[both, i].copy(), x[both, j].copy()
        for c in (True, False):  # take the mean of the own class away
            at = good[both] == c
            a[at] -= a[at].mean()
            b[at] -= b[at].mean()
        assert found.value[i, j] == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert found.value[0, 1] > 0.3 > abs(found.value[0, 2])


def test_a_judge_that_never_errs_has_no_correlation():
    p = trueness.panel([1, 1, 0, 0], {"a": [1, 1, 0, 0], "b": [1, 0, 1, 0]})
    assert np.isnan(figures.errors_figure(p).value[0, 1])


def test_judges_in_the_plane(judged):
    _, _, _, r = judged
    found = figures.judges_figure(r)
    k = found.names.index("a")
    assert found.up[k, 0] == r.judges["a"].sensitivity.value
    assert found.across[k, 0] == pytest.approx(1 - r.judges["a"].specificity.value)
    assert (found.across[:, 1] < found.across[:, 0]).all()
    assert (found.across[:, 0] < found.across[:, 2]).all()


def test_graded_judges_have_no_place_in_the_plane():
    rng = np.random.default_rng(0)
    y = rng.random(60) < 0.5
    p = trueness.panel(y, {"grade": np.round(y + rng.normal(size=60), 2)})
    r = trueness.prevalence(p, labelled="random")
    with pytest.raises(trueness.NotEnoughCases, match="give grades"):
        figures.judges_figure(r)
