"""A rule is taken wherever a threshold is, and an estimate wherever a number is."""

import pytest

import trueness

T = trueness.simulate_tally(300, 100, 0.8, rng=0)
PANEL = trueness.simulate_panel(300, 100, [0.8, 0.7], rng=0)
HALF = trueness.Estimate(0.5, 0.4, 0.6, 0.95, "known")
THRESHOLDS = {
    "at_threshold": lambda cut: trueness.at_threshold(T, cut)["recall"].value,
    "confusion": lambda cut: trueness.confusion(T, cut).tp,
    "vote": lambda cut: PANEL.vote(cut).rows.tolist(),
    "compare_metric": lambda cut: trueness.compare_metric(
        PANEL, "recall", thresholds=cut
    ).to_dict(),
    "watch": lambda cut: repr(trueness.watch("recall", threshold=cut, at_least=0.5)),
}
NUMBERS = {
    "fermi_dirac": lambda p: trueness.fermi_dirac(n=100, n_pos=50, auc=p).auc,
    "binormal": lambda p: trueness.ranking.binormal(1, p).auc,
    "precision": lambda p: trueness.ranking.leakage(T).precision(0.5, p),
    "utility_level": lambda p: trueness.utility_level(7, p),
    "rule": lambda p: trueness.Rule(p).upper,
    "at_prevalence": lambda p: trueness.at_prevalence(trueness.calibrate(T), p, 0.1)(
        0.3
    ).item(),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_rule_is_taken_wherever_a_threshold_is(name):
    call = THRESHOLDS[name]
    chosen = trueness.best_threshold(T)
    by_number = call(chosen.threshold)

    assert call(chosen.rule) == by_number
    assert call(chosen) == by_number


@pytest.mark.parametrize("name", [*THRESHOLDS, *NUMBERS])
def test_an_estimate_is_taken_wherever_a_number_is(name):
    call = (THRESHOLDS | NUMBERS)[name]
    assert call(HALF) == call(0.5)


def test_a_watch_needs_one_threshold_for_all():
    with pytest.raises(trueness.InputError, match="one threshold for all"):
        trueness.watch("recall", threshold=trueness.Rule(0.8, lower=0.3), at_least=0.5)
