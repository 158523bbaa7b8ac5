"""Requirements about a site that was not seen."""

import numpy as np
import pytest

import trueness
from trueness.monitoring.requirements import requirement


def verdicts(recalls, cases=200):
    """Give verdicts of 0 and 1 at sites with so many positives."""
    return {
        f"site {number}": trueness.Tally(
            [1, 0], pos=[found, cases - found], neg=[10, 90]
        )
        for number, found in enumerate(recalls)
    }


GOOD = verdicts([170, 172, 175, 178, 180, 182, 174, 176])
MIXED = verdicts([120, 150, 190, 170, 180, 140, 195, 160])


def test_the_prediction_interval_decides():
    sentence = "recall >= 0.8 at the next site"

    assert trueness.check(GOOD, sentence).verdict == "holds"
    assert trueness.check(MIXED, sentence).verdict == "cannot tell yet"
    assert trueness.check(GOOD, "recall >= 0.97 at the next site").verdict == "fails"


def test_limits_are_those_of_the_prediction_interval():
    (verdict,) = trueness.check(MIXED, "recall >= 0.8 at the next site").verdicts

    prediction = trueness.across_sites(MIXED, "recall", level=0.9).prediction
    assert verdict.low == pytest.approx(prediction.low)
    assert verdict.high == pytest.approx(prediction.high)
    assert "over 8 sites" in verdict.reason
    assert verdict.cases_needed is None


def test_the_mean_may_hold_where_the_next_site_does_not():
    both = trueness.check(
        MIXED, ["recall >= 0.7 at 1", "recall >= 0.7 at 1 at the next site"]
    )

    by_site = both.verdicts[:8]
    next_site = both.verdicts[8]
    assert any(verdict.verdict == "fails" for verdict in by_site)
    assert next_site.verdict == "cannot tell yet"


def test_few_sites_decide_nothing():
    (verdict,) = trueness.check(
        verdicts([170, 172, 175]), "recall >= 0.5 at the next site"
    ).verdicts

    assert verdict.verdict == "cannot tell yet"
    assert "needs at least 5 sites" in verdict.reason


def test_sites_of_a_column_are_named_with_by():
    all_cases = sum(list(GOOD.values())[1:], GOOD["site 0"])

    answer = trueness.check(
        all_cases,
        "recall >= 0.8 at 0.5 at the next site by hospital",
        groups={"hospital": GOOD},
    )

    assert answer.verdict == "holds"


def test_measures_without_a_threshold():
    answer = trueness.check(GOOD, ["auc >= 0.6 at the next site"])

    assert answer.verdict == "holds"


@pytest.mark.parametrize(
    "fields",
    [
        {"metric": "recall", "at_least": 0.8, "next_site": True},
        {"metric": "recall", "at_least": 0.8, "threshold": 0.3, "next_site": True},
    ],
)
def test_a_sentence_reads_back(fields):
    written = requirement(fields)

    assert requirement(str(written)) == written


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("positives >= 3 at the next site", "not predicted"),
        (
            {"metric": "auc", "not_worse_than": "baseline", "next_site": True},
            "at_least or at_most",
        ),
        ({"metric": "auc", "at_least": 0.8, "next_site": 3}, "true or false"),
    ],
)
def test_what_cannot_be_required(result, message):
    with pytest.raises(trueness.InputError, match=message):
        trueness.check(GOOD, result)


def test_one_tally_has_no_sites():
    with pytest.raises(trueness.InputError, match="needs data of several sites"):
        trueness.check(GOOD["site 0"], "auc >= 0.8 at the next site")


def test_a_watch_has_no_next_site():
    with pytest.raises(trueness.InputError, match="not the next site"):
        trueness.watch("recall >= 0.8 at 0.3 at the next site")


def test_in_every_column_is_required_of_each_group():
    by_words = trueness.check(
        GOOD["site 0"], "recall >= 0.5 at 0.5 in every site", groups={"site": GOOD}
    )
    by_field = trueness.check(
        GOOD["site 0"], "recall >= 0.5 at 0.5 by site", groups={"site": GOOD}
    )

    assert by_words == by_field
    assert len(by_words.verdicts) == len(GOOD)


def test_the_next_site_needs_no_column_when_there_is_one():
    named = trueness.check(
        GOOD["site 0"], "recall >= 0.8 at 0.5 at the next site by hospital",
        groups={"hospital": GOOD},
    )  # fmt: skip

    unnamed = trueness.check(
        GOOD["site 0"], "recall >= 0.8 at 0.5 at the next site",
        groups={"hospital": GOOD},
    )  # fmt: skip

    assert unnamed.verdicts == named.verdicts


def test_bins_leave_the_next_site_open():
    rng = np.random.default_rng(0)
    label = rng.random(4000) < 0.4
    score = rng.normal(label, 1)
    sites = trueness.tally(label, score, by=np.arange(4000) % 8)
    all_cases = trueness.tally(label, score)
    in_bins = {name: tally.bin(4) for name, tally in sites.items()}
    claim = "auc >= 0.6 at the next site"

    exact = trueness.check(all_cases, claim, groups={"site": sites})
    binned = trueness.check(all_cases, claim, groups={"site": in_bins})

    assert exact.verdict == "holds"
    assert binned.verdict == "cannot tell yet"
    assert "in bins" in binned.verdicts[0].reason


@pytest.mark.parametrize(
    "sentence", ["partial_auc >= 0.5", "calibration_error <= 0.9", "prevalence >= 0.1"]
)
def test_measures_of_gates_alone_are_predicted_too(sentence):
    rng = np.random.default_rng(0)
    sites = {}
    for name in "abcdef":
        is_positive = rng.random(200) < 0.4
        log_odds = rng.normal(size=200) + 2 * is_positive
        sites[name] = trueness.tally(is_positive, 1 / (1 + np.exp(-log_odds)))

    (verdict,) = trueness.check(sites, f"{sentence} at the next site").verdicts

    assert verdict.verdict == "holds"
    assert "over 6 sites" in verdict.reason
