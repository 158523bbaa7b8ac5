"""Limits of detection and grades, as laboratories and pathologists write them."""

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness import InputError
from trueness.data.cleaning import collected_remarks

LABELS = [0, 0, 1, 0, 1, 1]


def tally_and_remarks(scores):
    frame = pd.DataFrame({"label": LABELS, "score": scores})
    with collected_remarks() as remarks:
        counts = trueness.tally(frame, label="label", score="score")
    return counts, remarks


def test_values_below_a_limit_are_tied_below_it():
    counts, remarks = tally_and_remarks(["<0.5", "<0.5", "0.5", "0.7", "2", ">9"])
    in_order = trueness.tally(LABELS, [0, 0, 1, 2, 3, 4])

    np.testing.assert_array_equal(counts.pos, in_order.pos)
    np.testing.assert_array_equal(counts.neg, in_order.neg)
    assert "'<0.5' as just below 0.5" in remarks[0]
    assert "'>9' as just above 9" in remarks[0]


def test_a_limit_that_is_included_is_its_number():
    counts, _ = tally_and_remarks(["<=1", "1", "2", "\u22653", "3", "2"])

    assert counts.score.tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (["<5", "3", "7", "8", "9", "9"], "'<5' beside '3'"),
        (["<5", "<6", "7", "8", "9", "9"], "'<6' beside '<5'"),
        ([">5", "3", "7", "2", "1", "1"], "'>5' beside '7'"),
    ],
)
def test_an_order_that_a_limit_leaves_open_is_refused(scores, words):
    with pytest.raises(InputError, match=words) as caught:
        tally_and_remarks(scores)

    assert caught.value.option == "score"


def test_limits_may_have_a_decimal_comma_or_a_per_cent_sign():
    with_comma, _ = tally_and_remarks(["<0,5", "0,7", "1,2", "0,9", "2,5", "3,1"])
    percentages, _ = tally_and_remarks(["<1%", "2%", "5%", "7%", "20%", ">90%"])

    assert with_comma.score[-1] == np.nextafter(0.5, 0)
    assert percentages.score[0] == np.nextafter(0.9, 1)


def test_grades_lose_their_sign():
    counts, _ = tally_and_remarks(["0", "1+", "2+", "1+", "3+", "2+"])

    assert counts.score.tolist() == [3.0, 2.0, 1.0, 0.0]


def test_a_grade_beside_the_same_number_is_no_number():
    with pytest.raises(InputError, match=r"must be numbers; found text .* '1\+'"):
        tally_and_remarks(["0", "1", "1+", "2", "3", "2"])


def test_grades_of_a_bare_frame_are_found():
    frame = pd.DataFrame(
        {"label": LABELS * 5, "ihc": ["0", "1+", "2+", "1+", "3+", "2+"] * 5}
    )

    with collected_remarks():
        finding = trueness.evaluate(frame)

    assert "ihc" in finding.numbers["scores"]
