"""Gaps and ratios of metrics between groups: R's ratesci, by hand, notes, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trueness
from trueness import InputError, Tally


def verdicts(flagged, others):
    return Tally([1, 0], pos=[flagged, others])


GROUPS = {"a": verdicts(56, 14), "b": verdicts(48, 32)}


def test_gap_and_ratio_are_those_of_ratesci():
    pair = trueness.compare_groups(GROUPS, "recall", effect="ratio").pairs[0]

    # moverci(56, 70, 48, 80, type = "wilson"), contrast "RD" and "RR"
    assert pair.difference.ci == pytest.approx(
        (0.052431472402365, 0.33387265403691), abs=1e-13
    )
    assert pair.ratio.value == pytest.approx(0.8 / 0.6)
    assert pair.ratio.ci == pytest.approx((1.0782946132403, 1.6629199665111), abs=1e-12)


def test_a_gap_is_significant_where_its_interval_leaves_out_zero():
    pair = trueness.compare_groups(GROUPS, "recall").pairs[0]
    at_p = trueness.compare_groups(GROUPS, "recall", level=1 - pair.p_value).pairs[0]

    assert pair.p_value < 0.05
    assert at_p.difference.low == pytest.approx(0, abs=1e-9)


def test_each_group_has_the_estimate_that_it_has_alone():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    score = rng.random(300)
    groups = trueness.tally(label, score, by=rng.choice(["x", "y"], 300))

    for metric in ("precision", "f1", "youden"):
        comparison = trueness.compare_groups(groups, metric, threshold=0.4)
        for name, value in zip(comparison.names, comparison.values, strict=True):
            alone = trueness.at_threshold(groups[name], 0.4, [metric])[metric]
            assert value.ci == alone.ci


def impact_ratios(**sizes):
    """Selection rates 0.5, 0.2 and, of few cases, 0.75."""
    groups = {
        "most": verdicts(100, 100),
        "fewer": verdicts(40, 160),
        "near": verdicts(75, 115),
        "tiny": verdicts(3, 1),
    }
    return trueness.compare_groups(
        groups, "selection_rate", effect="ratio", reference="highest", **sizes
    )


def test_impact_ratios_are_relative_to_the_most_selected_group():
    comparison = impact_ratios()

    ratios = {pair.first: pair.ratio.value for pair in comparison.pairs}

    assert {pair.second for pair in comparison.pairs} == {"most"}
    assert ratios == pytest.approx({"fewer": 0.4, "near": 75 / 95, "tiny": 1.5})


def test_notes_name_small_groups_and_those_below_four_fifths():
    notes = "\n".join(impact_ratios().notes)

    assert "Below four fifths of the highest rate (four-fifths rule): fewer." in notes
    assert "includes larger ratios: near." in notes
    assert "less than 2 % of the cases (tiny: 4)" in notes


def test_a_group_of_one_case_is_named_beside_its_p_value():
    groups = {
        "many": Tally([1, 0], neg=[50, 900]),
        "one": Tally([1, 0], neg=[1, 0], pos=[20, 3]),
    }

    found = trueness.compare_groups(groups, "fpr")

    # Fisher's exact p-value is .054
    assert found.pairs[0].p_value < 1e-4
    assert any("Fewer than 5 cases" in n and "one: 1" in n for n in found.notes)
    assert not any(
        "Fewer than" in n for n in trueness.compare_groups(groups, "flagged_rate").notes
    )


def test_selection_rates_need_no_labels():
    rng = np.random.default_rng(1)
    score = rng.random(200)
    group = rng.choice(["x", "y"], 200)
    groups = trueness.tally(rng.integers(0, 2, 200), score, by=group)
    unlabelled = {name: tally.without_labels() for name, tally in groups.items()}

    with_labels = trueness.compare_groups(groups, "selection_rate", threshold=0.5)
    without = trueness.compare_groups(unlabelled, "selection_rate", threshold=0.5)

    assert without.pairs[0].difference.ci == pytest.approx(
        with_labels.pairs[0].difference.ci
    )
    assert without.pairs[0].p_value == pytest.approx(with_labels.pairs[0].p_value)


def test_groups_of_several_columns_have_all_gaps():
    rng = np.random.default_rng(2)
    columns = {
        "y": rng.integers(0, 2, 300),
        "p": rng.random(300),
        "sex": rng.choice(["f", "m"], 300),
        "age": rng.choice(["old", "young"], 300),
    }

    comparison = trueness.compare_groups(
        columns, "recall", label="y", score="p", by=["sex", "age"], threshold=0.5
    )

    assert comparison.names[0] == "sex=f, age=old"
    assert len(comparison.pairs) == 6


def test_ratio_ends_at_zero_and_infinity():
    none_flagged = {"a": verdicts(0, 20), "b": verdicts(1, 4)}
    over_none = {"a": verdicts(3, 5), "b": verdicts(0, 20)}

    of_none = trueness.compare_groups(none_flagged, "recall", effect="ratio")
    undefined = trueness.compare_groups(over_none, "recall", effect="ratio")

    assert of_none.pairs[0].ratio.value == 0
    assert of_none.pairs[0].ratio.low == 0
    assert of_none.pairs[0].ratio.high > 0
    assert math.isnan(undefined.pairs[0].ratio.value)


def test_what_is_no_metric_has_neither_threshold_nor_ratio():
    for options in ({"threshold": 0.5}, {"effect": "ratio"}):
        with pytest.raises(InputError, match="metrics at a threshold"):
            trueness.compare_groups(GROUPS, lambda t: t.n_pos, **options)


def test_wrong_options_are_refused():
    scores = {"a": Tally([3, 2], pos=[1, 2], neg=[2, 1]), "b": Tally([2], pos=[4])}

    with pytest.raises(InputError, match="threshold"):
        trueness.compare_groups(scores, "recall")
    with pytest.raises(InputError, match="reference"):
        trueness.compare_groups(GROUPS, "recall", reference="c")
    with pytest.raises(InputError, match="effect"):
        trueness.compare_groups(GROUPS, "recall", effect="odds")
