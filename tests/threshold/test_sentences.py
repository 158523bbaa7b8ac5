"""Does a person who follows the sentence flag the cases that it speaks of?"""

import re

import numpy as np
import pytest

import trueness
from trueness._core.numbers import cut_text, cut_texts
from trueness.findings.cut import find_cut
from trueness.findings.request import Request
from trueness.threshold import sentences

NUMBER = r"([-+]?\d[\d.]*(?:e[-+]?\d+)?)"
# scores that four or six digits do not tell apart
SCALES = {
    "years": (1990, 3),
    "money": (123_456, 1000),
    "tiny": (5e-9, 1e-9),
    "id": (1e9, 1),
}


def scored(scale, rng):
    centre, spread = SCALES[scale]
    labels = rng.random(300) < 0.3
    return trueness.tally(labels, centre + spread * rng.normal(labels, 1))


def answer(t, **asked):
    """Give what is said of a threshold, as the shell and the report show it."""
    return " ".join(map(str, find_cut(t, Request(**asked))[0].answer))


def flagged(t, text):
    result = re.search(f"{NUMBER} or more", text)
    return float(result[1]), int((t.neg + t.pos)[t.score >= float(result[1])].sum())


@pytest.mark.parametrize("scale", SCALES)
def test_the_written_threshold_flags_the_same_cases(scale, rng):
    t = scored(scale, rng)
    point = trueness.best_threshold(t, "f1")
    expected = point.confusion.tp + point.confusion.fp
    said = answer(t, maximize="f1")
    for text in (said, sentences.prevalence_sentences(point)[0]):
        assert flagged(t, text)[1] == expected
    at, _ = flagged(t, said)
    low, high = map(
        float, re.search(f"above {NUMBER} and up to {NUMBER}", said).groups()
    )

    assert low < at <= high
    assert float(re.search(f"threshold: {NUMBER} in", repr(point))[1]) == at

    page = trueness.reports.html(t)
    advice = re.search(f"gives it {NUMBER} or more", page)[1]
    tile = re.search(f"flag scores of at least.*?{NUMBER}<", page, re.DOTALL)[1]

    assert advice == tile

    youden = trueness.best_threshold(t, "youden").confusion

    assert flagged(t, f"{advice} or more")[1] == youden.tp + youden.fp


@pytest.mark.parametrize("scale", SCALES)
def test_a_written_guarantee_is_within_its_range(scale, rng):
    tally = scored(scale, rng)
    guarantee = trueness.guaranteed_threshold(tally, "recall >= 0.3", level=0.8)

    text = answer(tally, subject_to=("recall >= 0.3",), guarantee=0.8)

    low, high = guarantee.score_range
    threshold, _ = flagged(tally, text)
    assert low < threshold <= high


@pytest.mark.parametrize("scale", SCALES)
def test_two_written_thresholds_flag_and_clear_as_counted(scale, rng):
    tally = scored(scale, rng)
    zones = trueness.best_thresholds(tally, minimize="cost(fp=1, fn=4, defer=0.5)")

    text = sentences.zone_sentences(zones)[0]

    upper_text = re.search(f"{NUMBER} or more", text)[1]
    lower = float(re.search(f"below {NUMBER}", text)[1])
    called_negative = (tally.neg + tally.pos)[tally.score < lower].sum()
    assert flagged(tally, text)[1] == zones.confusion.tp + zones.confusion.fp
    assert called_negative == zones.confusion.fn + zones.confusion.tn
    assert f"positive at {upper_text} or more" in repr(zones)


def test_fewest_digits():
    assert cut_text(0.123456789, (0.12, 0.13)) == "0.1235"
    assert cut_text(123_456.7, (120_000, 130_000)) == "123500"
    assert cut_text(0.5, (0.5, 0.5)) == "0.5"
    assert cut_text(1 / 3, (1 / 3, 1 / 3)) == repr(1 / 3)
    assert cut_text(np.inf, (1.0, np.inf)) == "inf"
    assert cut_texts(0.645, (0.64, 0.65)) == ["0.645", "0.64", "0.65"]

    next_up = np.nextafter(0.5, 1)

    assert float(cut_text(next_up, (0.5, next_up))) == next_up
