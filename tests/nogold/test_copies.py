"""A classifier that repeats the votes of another counts once."""

import numpy as np
import pytest

import trueness
from no_gold import simulate
from trueness.nogold.copies import nearly_copied
from trueness.nogold.model import read_patterns


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(1)
    return simulate(rng, 600, 0.4, [0.8, 0.7, 0.75], [0.2, 0.3, 0.2])


def panel_of(votes, columns, labels=None):
    return trueness.panel(labels, {f"T{i}": votes[:, c] for i, c in enumerate(columns)})


@pytest.fixture(scope="module")
def pair(votes):
    """The same votes, without copies and with three of the first classifier."""
    plain, more = (
        trueness.latent_class(panel_of(votes[1], columns), draws=500)
        for columns in ((0, 1, 2), (0, 1, 0, 2, 0))
    )
    return plain, more


def test_copies_share_their_places(pair):
    plain, more = (post.ranking("youden").probability for post in pair)
    np.testing.assert_allclose(more[[2, 4]], more[[0, 0]])  # T0, T2 and T4 are one
    # who is best without copies is best with them; three share what one had
    assert 3 * more[0, 0] == pytest.approx(plain[0, 0])
    assert more[[1, 3], 0] == pytest.approx(plain[1:, 0])
    np.testing.assert_allclose(more.sum(axis=0), 1)
    np.testing.assert_allclose(more.sum(axis=1), 1)


def test_copies_change_nothing(pair):
    plain, more = pair
    assert more.names == ("T0", "T1", "T2", "T3", "T4")
    assert more.prevalence == plain.prevalence
    for mine, yours in (("T0", "T0"), ("T1", "T1"), ("T2", "T0"), ("T4", "T0")):
        assert more.sensitivity[mine] == plain.sensitivity[yours]
        assert more.specificity[mine] == plain.specificity[yours]
    assert more.identified == plain.identified
    assert any("the same votes as T0: T2, T4" in n for n in more.notes)


def test_all_that_is_asked_of_a_posterior_is_answered(pair):
    plain, more = pair
    assert more.draws["sensitivity"].shape[1] == 5
    summary = more.summary()
    assert summary["parameter"][1:6].tolist() == [
        f"sensitivity[T{i}]" for i in range(5)
    ]
    assert len(summary["mean"]) == 11
    rows = np.array([[1, 1, 1, 0, 1], [0, 1, 0, 1, 0], [np.nan, 1, 1, 0, np.nan]])
    assert more.probability(rows) == pytest.approx(
        plain.probability([[1, 1, 0], [0, 1, 1], [1, 1, 0]])
    )
    a, b = more.model.class_probabilities(more.flat, np.array([[1, 1, 0, 1, 1.0]]))
    assert (a == 0).all()  # copies never differ
    assert (b == 0).all()
    moved, same = more.sensitivity_to_dependence(), plain.sensitivity_to_dependence()
    assert moved.prevalence == pytest.approx(same.prevalence, rel=1e-3)
    assert moved.sensitivity["T4"] == pytest.approx(same.sensitivity["T0"], rel=1e-3)
    assert more.ranking("youden").probability.shape == (5, 5)
    combined = trueness.best_combination(more)
    one = trueness.best_combination(plain)
    assert combined.sensitivity.value == pytest.approx(one.sensitivity.value)
    seen = trueness.conditional_dependence(more, replicates=19)
    assert seen.observed.max() == pytest.approx(1)


def test_a_copy_is_no_evidence_of_accuracy(votes):
    """With copies taken for independent judges the original would be nearly perfect."""
    p = panel_of(votes[1], (0, 0, 0, 1))
    believed = trueness.latent_class(p, draws=300, dependence="none")
    assert believed.sensitivity["T0"].low > 0.95
    post = trueness.latent_class(p, draws=300)
    assert not post.identified
    assert post.sensitivity["T0"].low < 0.8 < post.sensitivity["T0"].high


def test_a_prior_that_tells_copies_apart_keeps_them(votes):
    p = panel_of(votes[1], (0, 0, 1, 2))
    prior = {"sensitivity": {"T0": (8, 2), "T1": (2, 2)}}
    post = trueness.latent_class(p, draws=200, prior=prior, method="importance")
    assert post.sensitivity["T0"] != post.sensitivity["T1"]


def test_if_all_agree_nothing_can_be_told():
    p = trueness.Panel(list("ABC"), [[1, 1, 1], [0, 0, 0]], unknown=[30, 50])
    post = trueness.latent_class(p, draws=200)
    assert not post.identified
    assert any("agree in every case" in n for n in post.notes)


def test_the_rate_without_labels_names_every_judge(votes):
    r = trueness.prevalence(panel_of(votes[1], (0, 1, 0, 2)))
    assert set(r.judges) == {"T0", "T1", "T2", "T3"}
    assert r.judges["T2"] == r.judges["T0"]


def test_a_judge_that_nearly_repeats_another_is_not_believed(rng):
    """One in a hundred votes turned round: the two agree, and look nearly perfect."""
    y = rng.random(800) < 0.6
    x = (rng.random((800, 4)) < np.where(y, 0.85, 0.25)[:, None]).astype(float)
    x[:, 3] = np.where(rng.random(800) < 0.01, 1 - x[:, 0], x[:, 0])
    votes = {f"J{k}": column for k, column in enumerate(x.T)}
    post = trueness.latent_class(trueness.panel(None, votes), draws=300)
    assert post.sensitivity["J0"].low > 0.9  # which is wrong, and said to be doubtful
    assert not post.identified
    assert "J0 and J3 nearly always agree" in post.notes[0]
    # four judges that are all nearly right agree in all pairs: nothing is odd
    right = np.where(rng.random((800, 4)) < 0.01, 1 - y[:, None], y[:, None] * 1.0)
    sharp = trueness.panel(None, {f"J{k}": column for k, column in enumerate(right.T)})
    assert nearly_copied(read_patterns(sharp)) == ""
