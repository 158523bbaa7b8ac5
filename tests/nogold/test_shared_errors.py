"""Independent errors are tested without being asked."""

import numpy as np
import pytest
from scipy.special import ndtr

import trueness
from no_gold import simulate, table
from trueness.nogold.dependent import Dependent


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
    assert any("make the same errors" in n for n in post.notes)
    assert any("These votes alone do not determine" in n for n in post.notes)
    assert any("predicts them best" in n for n in post.notes)
    assert isinstance(post.model, Dependent)
    quiet = trueness.latent_class(panel_of(votes), rng=0, draws=500, dependence="none")
    assert quiet.identified
    assert quiet.sensitivity["T0"].low > 0.8  # confident and wrong
    assert post.sensitivity["T0"].low < quiet.sensitivity["T0"].low


def test_labels_answer_where_errors_are_shared():
    """Sixty labels, errors that go together: intervals hold the truth all the same."""
    rng, held = np.random.default_rng(2), np.zeros(3)
    sens, spec = [0.8, 0.75, 0.8, 0.7], [0.7, 0.8, 0.75, 0.8]
    for i in range(8):
        y = rng.random(400) < 0.6
        luck = rng.random((400, 4))
        luck = np.where(rng.random((400, 1)) < 0.6, luck[:, :1], luck)
        votes = np.where(y[:, None], luck < sens, luck >= spec).astype(float)
        known = np.where(np.arange(400) < 60, y, np.nan)
        columns = {f"T{k}": v for k, v in enumerate(votes.T)}
        post = trueness.latent_class(trueness.panel(known, columns), rng=i, draws=300)
        found = (post.prevalence, post.sensitivity["T0"], post.specificity["T1"])
        for k, (e, truth) in enumerate(zip(found, (0.6, 0.8, 0.8), strict=True)):
            held[k] += e.low <= truth <= e.high
        assert any("come from the labels" in n for n in post.notes)
        assert post.identified
    assert (held >= 5).all()  # 7.6 are expected; 4 or fewer: a chance of 1 in 2,500


def test_the_model_of_the_labels_is_a_model():
    p = trueness.Panel(
        ["A", "B"],
        [[1, 1], [1, 0], [0, 1], [0, 0]],
        pos=[30, 10, 8, 2],
        neg=[3, 9, 12, 40],
        unknown=[300, 150, 160, 400],
    )
    post = trueness.latent_class(p, dependence="labels", draws=2000)
    assert post.diagnostics.converged, post.diagnostics.message
    rate = trueness.prevalence(p, labelled="random")
    assert post.prevalence.value == pytest.approx(rate.value, abs=0.01)
    # the chances of all patterns add to one in either class, also with a missing vote
    a, b = post.model.class_probabilities(post.flat, p.rows)
    assert a.sum(axis=1) == pytest.approx(1)
    assert b.sum(axis=1) == pytest.approx(1)
    one, _ = post.model.class_probabilities(post.flat, np.array([[1, np.nan]]))
    assert one[:, 0] == pytest.approx(post.flat["sensitivity"][:, 0])
    high, low = post.probability([[1, 1], [0, 0]])
    assert high > 0.8 > 0.2 > low
    with pytest.raises(trueness.NotEnoughCases, match="labelled cases of each class"):
        trueness.latent_class(p.hide(), dependence="labels")


@pytest.mark.parametrize("kind", ["random effect", "pairs", "easy and hard"])
def test_models_of_shared_errors_deliver(kind, rng):
    votes = shared(rng, 300, 0.6, [0.8, 0.75, 0.8, 0.7], [0.7, 0.8, 0.75, 0.8], 0.6)
    post = trueness.latent_class(panel_of(votes), rng=0, draws=500, dependence=kind)
    assert post.diagnostics.converged, post.diagnostics.message
    assert post.diagnostics.ess_bulk.min() >= 500


def test_independent_errors_are_left_in_peace(rng):
    alarms = 0
    for _ in range(12):
        _, votes = simulate(
            rng, 2000, 0.4, [0.85, 0.8, 0.9, 0.75], [0.2, 0.1, 0.2, 0.3]
        )
        post = trueness.latent_class(panel_of(votes), rng=0, draws=200)
        alarms += not post.identified
    assert alarms <= 3  # 1 of 20 is expected; 4 or more of 12 have a chance of 1 in 500


def test_a_silent_test_is_no_proof(rng):
    """With 150 cases shared errors explain the votes as well as independent ones do."""
    votes = shared(rng, 150, 0.6, [0.8, 0.75, 0.8, 0.7], [0.7, 0.8, 0.75, 0.8], 0.4)
    p = panel_of(votes)
    post = trueness.latent_class(p, rng=0, draws=300)
    assert not post.identified
    assert any("cannot tell" in n or "do not determine" in n for n in post.notes)
    s = post.independent.sensitivity_to_dependence((0.0, 0.4))
    assert s.log_posterior[1] > s.log_posterior[0] - 1.92


def test_errors_shared_in_one_class_are_not_overlooked():
    """Only negatives have hard cases; no pair and no deviance need show it."""
    rng = np.random.default_rng(1)
    for _ in range(2):
        y = rng.random(2000) < 0.6
        hard = rng.normal(size=(2000, 1)) * ~y[:, None]
        right = rng.random((2000, 4)) < ndtr(1 + 1.2 * hard)
        votes = np.where(right, y[:, None], ~y[:, None]).astype(float)
        post = trueness.latent_class(panel_of(votes), rng=0, draws=200)
        assert not post.identified


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
