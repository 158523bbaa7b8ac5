"""Metrics add, scale and compare."""

import pickle

import numpy as np
import pytest

import trueness
from trueness import Confusion, InputError, accuracy, flagged, fpr, precision, recall

C = Confusion(tp=[3, 0], fp=[1, 0], fn=[2, 5], tn=[4, 5])


def test_a_weighted_sum_by_hand():
    metric = 0.7 * accuracy + 0.3 * recall

    assert metric(C).tolist() == pytest.approx([0.7 * 0.7 + 0.3 * 0.6, 0.7 * 0.5])
    assert repr(metric) == "0.7*accuracy + 0.3*recall"


def test_direction_and_range_follow():
    assert (recall - fpr).direction == "higher"
    assert (fpr - recall).direction == "lower"
    assert (recall + fpr).direction == "none"
    assert (recall - fpr).range == (-1, 1)
    assert (2 * flagged + 1).range == (1, np.inf)
    assert (recall - fpr).terms == ((1.0, recall), (-1.0, fpr))
    assert "Yerushalmy" in (recall + fpr).reference
    # a part that cancels is gone, with its undefined values
    assert not np.isnan((accuracy + precision - precision)(C)).any()


def half_the_precision(c):
    return trueness.precision(c) / 2


@pytest.mark.parametrize(
    ("metric", "equal"),
    [
        (1 - fpr, trueness.specificity),
        (recall + recall, 2 * recall),
        (accuracy + 2 - 2, accuracy),
    ],
    ids=repr,
)
def test_equal_sums_have_equal_values(metric, equal):
    assert metric(C).tolist() == equal(C).tolist()


@pytest.mark.parametrize(
    ("metric", "text", "values"),
    [
        (-recall / 2 + 1, "-0.5*recall + 1", [1 - 0.3, 1.0]),
        (recall + recall - 1, "2*recall - 1", [0.2, -1.0]),
        (recall - recall, "0", [0, 0]),
    ],
)
def test_sums_are_simplified(metric, text, values):
    assert repr(metric) == text
    assert metric(C).tolist() == pytest.approx(values)


def test_constraints():
    assert (recall >= 0.6)(C).tolist() == [True, False]
    assert (flagged <= 4)(C).tolist() == [True, True]
    assert (flagged < 4)(C).tolist() == [False, True]
    assert repr(recall >= 0.6) == "recall >= 0.6"
    assert (recall > fpr)(C).tolist() == [True, False]
    assert (precision >= 0)(C).tolist() == [True, False]  # undefined meets nothing
    assert repr(recall + 0.5 >= fpr) == "recall - fpr >= -0.5"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: recall * fpr, r"a metric after '\*' is not possible \(fpr\)"),
        (lambda: recall / 0, "cannot be divided by 0"),
        (lambda: recall + "1", "the number after '\\+' must be one finite number"),
        (lambda: recall >= "0.9", "the bound after >= must be one finite number"),
        (lambda: recall >= np.nan, "must be one finite number; found nan"),
        (lambda: 0.1 <= recall <= 0.9, "two constraints"),
        (lambda: trueness.records.Metric("x"), "needs a function of a Confusion"),
    ],
)
def test_what_does_not_add_up(make, message):
    with pytest.raises(InputError, match=message):
        make()


# a metric of one's own travels with its function, also under a name that is taken
OWN = [trueness.records.Metric(name, half_the_precision) for name in ("recall", "half")]


@pytest.mark.parametrize(
    "sent",
    [*trueness.METRICS, "f_beta(0.3)", "cost(fp=0.1, fn=7)", "0.7*recall - f_beta(2)/3",
     *OWN, 2 * OWN[0] + 1],
    ids=str,
)  # fmt: skip
def test_metrics_travel_to_another_process(sent):
    sent = trueness.metric(sent)
    got = pickle.loads(pickle.dumps(sent))  # noqa: S301
    c = trueness.Confusion(tp=[3, 5], fp=[1, 4], fn=[2, 0], tn=[9, 6])

    assert repr(got) == repr(sent)
    assert np.array_equal(got(c), sent(c), equal_nan=True)
    assert (got.direction, got.range) == (sent.direction, sent.range)
