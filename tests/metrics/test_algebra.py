"""Metrics add, scale and compare."""

import pickle

import numpy as np
import pytest

import trueness
from trueness import Confusion, InputError, accuracy, flagged, fpr, precision, recall

C = Confusion(tp=[3, 0], fp=[1, 0], fn=[2, 5], tn=[4, 5])


def test_sums_and_multiples_by_hand():
    m = 0.7 * accuracy + 0.3 * recall
    assert m(C).tolist() == pytest.approx([0.7 * 0.7 + 0.3 * 0.6, 0.7 * 0.5])
    assert repr(m) == "0.7*accuracy + 0.3*recall"
    assert (1 - fpr)(C).tolist() == trueness.specificity(C).tolist()
    assert (-recall / 2 + 1)(C).tolist() == [1 - 0.3, 1.0]
    assert (recall + recall)(C).tolist() == (2 * recall)(C).tolist()
    assert repr(recall + recall - 1) == "2*recall - 1"
    assert (recall - recall)(C).tolist() == [0, 0]
    assert repr(recall - recall) == "0"
    assert (accuracy + 2 - 2)(C).tolist() == accuracy(C).tolist()


def test_direction_and_range_follow():
    assert (recall - fpr).direction == "higher"
    assert (fpr - recall).direction == "lower"
    assert (recall + fpr).direction == "none"
    assert (recall - fpr).range == (-1, 1)
    assert (2 * flagged + 1).range == (1, np.inf)
    assert (recall - fpr).terms == ((1.0, recall), (-1.0, fpr))
    assert "Yerushalmy" in (recall + fpr).reference


def test_a_cancelled_part_is_gone():
    m = accuracy + precision - precision
    assert not np.isnan(m(C)).any()


def test_constraints():
    assert (recall >= 0.6)(C).tolist() == [True, False]
    assert (flagged <= 4)(C).tolist() == [True, True]
    assert (flagged < 4)(C).tolist() == [False, True]
    assert (recall >= 0.6)(C).tolist() == [True, False]
    assert repr(recall >= 0.6) == "recall >= 0.6"
    assert (recall > fpr)(C).tolist() == [True, False]
    assert (precision >= 0)(C).tolist() == [True, False]  # undefined meets nothing
    assert repr(recall + 0.5 >= fpr) == "recall - fpr >= -0.5"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: recall * fpr, r"a metric after '\*' is not possible \(fpr\)"),
        (lambda: recall / 0, "cannot be divided by 0"),
        (lambda: recall + "1", "the number after '\\+' must be one finite number"),
        (lambda: recall >= "0.9", "the bound after >= must be one finite number"),
        (lambda: recall >= np.nan, "must be one finite number; found nan"),
        (lambda: 0.1 <= recall <= 0.9, "pass two constraints"),
    ],
)
def test_what_does_not_add_up(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    "text",
    [
        *trueness.METRICS,
        "f_beta(0.3)",
        "cost(fp=0.1, fn=7)",
        "0.7*recall - f_beta(2)/3",
    ],
)
def test_metrics_travel_to_another_process(text):
    sent = trueness.metric(text)
    got = pickle.loads(pickle.dumps(sent))  # noqa: S301
    c = trueness.Confusion(tp=[3, 5], fp=[1, 4], fn=[2, 0], tn=[9, 6])
    assert repr(got) == repr(sent)
    assert np.array_equal(got(c), sent(c), equal_nan=True)
    assert (got.direction, got.range) == (sent.direction, sent.range)


def halved_precision(c):
    return trueness.precision(c) / 2


def test_own_metrics_travel_with_their_function_not_by_their_name():
    c = trueness.Confusion(tp=3, fp=1, fn=2, tn=9)
    for name in ("recall", "half the precision"):  # one name is taken
        own = trueness.Metric(name, halved_precision)
        got = pickle.loads(pickle.dumps(2 * own + 1))  # noqa: S301
        assert got(c) == 2 * halved_precision(c) + 1
