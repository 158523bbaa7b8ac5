"""Independent errors are tested without being asked."""

import numpy as np
import pytest

import trueness
from no_gold import simulate, table


def panel_of(votes):
    return trueness.panel(None, {f"T{k}": v for k, v in enumerate(votes.T)})


def shared(rng, n, rate, sens, spec, chance):
    """Judges of whom, with this chance, one luck decides for all."""
    y = rng.random(n) < rate
    luck = rng.random((n, len(sens)))
    luck = np.where(rng.random((n, 1)) < chance, luck[:, :1], luck)
    return np.where(y[:, None], luck < sens, luck >= spec).astype(float)


def test_judges_that_err_together_are_never_confident(rng):
    votes = shared(rng, 800, 0.6, [0.8, 0.75, 0.8, 0.7], [0.7, 0.8, 0.75, 0.8], 0.6)
    post = trueness.latent_class(panel_of(votes), rng=0, draws=500)
    assert not post.identified
    assert any("err together" in n for n in post.notes)
    assert any("cannot be told from these votes" in n for n in post.notes)
    quiet = trueness.latent_class(panel_of(votes), rng=0, draws=500, dependence="none")
    assert quiet.identified
    assert quiet.prevalence.value == post.prevalence.value


def test_independent_errors_are_left_in_peace(rng):
    alarms = 0
    for _ in range(20):
        _, votes = simulate(rng, 300, 0.4, [0.85, 0.8, 0.9, 0.75], [0.2, 0.1, 0.2, 0.3])
        post = trueness.latent_class(panel_of(votes), rng=0, draws=200)
        alarms += not post.identified
    assert alarms <= 4  # 1 of 20 is expected; 5 or more have a chance of 1 in 400


def test_three_tests_say_that_nothing_can_be_seen():
    post = trueness.latent_class(table("chloroplast_reconstructed"), rng=0, draws=500)
    assert not post.identified
    assert any("cannot show whether" in n for n in post.notes)


def test_sensitivity_to_dependence():
    post = trueness.latent_class(table("chloroplast_reconstructed"), rng=0, draws=2000)
    s = post.sensitivity_to_dependence()
    assert s.correlation.tolist() == [0, 0.2, 0.4]
    # without correlation it is the mode of the same posterior
    assert s.prevalence[0] == pytest.approx(post.prevalence.value, abs=0.1)
    assert np.ptp(s.prevalence) > 0.01
    for name in post.names:
        # errors that are shared explain agreement: the tests themselves look worse
        assert s.sensitivity[name][2] < s.sensitivity[name][0] + 0.02
    with pytest.raises(trueness.InputError, match="correlations"):
        post.sensitivity_to_dependence([1.5])
