"""More than two classes, by reduction to two."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import trueness
from trueness import InputError, NotEnoughCases


def cases(rng, n=80, c=4, digits=2):
    y = rng.integers(0, c, n)
    y[: 2 * c] = np.tile(np.arange(c), 2)
    z = rng.normal(size=(n, c))
    z[np.arange(n), y] += 1
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    p = p.round(digits)  # with ties
    return y, p / p.sum(axis=1, keepdims=True)


def test_hand_and_till_by_counting(rng):
    y, p = cases(rng, n=30, c=3, digits=1)
    total = []
    for a, b in itertools.permutations(range(3), 2):
        one = p[y == a, a][:, None]
        other = p[y == b, a]
        total.append((one > other).mean() + (one == other).mean() / 2)

    areas = trueness.multiclass_auc(y, p)

    assert areas.value == pytest.approx(np.mean(total), abs=1e-14)


@pytest.mark.parametrize(
    ("average", "theirs"),
    [
        ("hand-till", {"multi_class": "ovo", "average": "macro"}),
        ("macro", {"multi_class": "ovr", "average": "macro"}),
        ("weighted", {"multi_class": "ovr", "average": "weighted"}),
    ],
)
def test_values_of_scikit_learn_and_an_interval_around_them(rng, average, theirs):
    y, p = cases(rng, n=60)
    areas = trueness.multiclass_auc(y, p, average=average)
    assert areas.value == pytest.approx(roc_auc_score(y, p, **theirs), abs=1e-12)
    assert 0 <= areas.low < areas.value < areas.high <= 1

    wide = trueness.multiclass_auc(y, p, average=average, level=0.99)
    assert wide.low < areas.low

    # the standard error is that of the jackknife, to a few percent
    keep = ~np.eye(y.size, dtype=bool)
    without = [
        trueness.multiclass_auc(y[k], p[k], average=average, classes=range(4)).value
        for k in keep
    ]
    jackknife = np.sqrt((y.size - 1) * np.var(without))
    assert areas.se == pytest.approx(jackknife, rel=0.08)


def test_two_classes_perfect_and_useless_scores(rng):
    y, p = cases(rng, c=2)
    one = trueness.auc(y, p[:, 1])
    for average in ("hand-till", "macro", "weighted"):
        areas = trueness.multiclass_auc(y, p, average=average)
        assert areas.value == pytest.approx(one.value, abs=1e-14)

    y = np.repeat([0, 1, 2], 10)
    best = trueness.multiclass_auc(y, np.eye(3)[y])
    assert (best.value, best.high) == (1.0, 1.0)
    assert 0.5 < best.low < 0.95

    flat = trueness.multiclass_auc(y, np.full((30, 3), 1 / 3))
    assert flat.value == 0.5
    assert flat.low < 0.4 < 0.6 < flat.high


NAMES = np.array(["a", "b", "c", "d"])


def test_one_against_the_rest_is_a_tally_of_each_class(rng):
    code, scores = cases(rng)

    tallies = trueness.one_vs_rest(NAMES[code], scores, classes=NAMES)

    for number, name in enumerate(NAMES.tolist()):
        assert tallies[name] == trueness.tally(code == number, scores[:, number])
    areas = trueness.auc(tallies)
    assert areas["b"].value == trueness.auc(code == 1, scores[:, 1]).value


def test_scores_of_classes_come_as_array_mapping_or_frame(rng):
    code, scores = cases(rng)
    labels = NAMES[code]
    columns = dict(zip(NAMES.tolist(), scores.T, strict=True))
    expected = trueness.one_vs_rest(labels, scores, classes=NAMES)

    for form in (scores, columns, pd.DataFrame(columns)):
        assert trueness.one_vs_rest(labels, form) == expected


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_labels_and_scores_of_classes_come_in_one_frame(rng, library):
    code, scores = cases(rng)
    columns = dict(zip(NAMES.tolist(), scores.T, strict=True))
    frame = library({"y": NAMES[code], **columns})

    tallies = trueness.one_vs_rest(frame, NAMES.tolist(), label="y")

    assert tallies == trueness.one_vs_rest(NAMES[code], scores, classes=NAMES)


def test_missing_labels_of_classes_are_unknown(rng):
    code, scores = cases(rng)
    labels = NAMES[code].astype(object)
    labels[:3] = None

    assert trueness.one_vs_rest(labels, scores)["a"].n_unknown == 3


def test_top_labels(rng):
    y, p = cases(rng)
    result = trueness.top_label(y, p)

    top = p.argmax(axis=1)

    for k, t in result.items():
        assert t == trueness.tally(y[top == k] == k, p[top == k, k])
    assert sum(result.values()).n == y.size
    assert set(trueness.calibration_error(result)) == set(result)


def test_what_is_refused_in_words(rng):
    y, p = cases(rng)
    for make, message in (
        (lambda: trueness.one_vs_rest(y, p[:, 0]), "one column of scores per class"),
        (lambda: trueness.one_vs_rest(y, p[:, :3]), "one class for each of the 3"),
        (lambda: trueness.one_vs_rest(y, p, classes=[0, 1, 2, 5]), "found also 3"),
        (lambda: trueness.multiclass_auc(y, p, average="micro"), "average must be"),
        (lambda: trueness.one_vs_rest(pd.DataFrame({"y": y})), "Name the columns"),
    ):
        with pytest.raises(InputError, match=message):
            make()
    y[y == 3] = 2
    with pytest.raises(NotEnoughCases, match="at least two cases of each class; 3 has"):
        trueness.multiclass_auc(y, p, classes=range(4))


def three_classes(rng, n=400):
    """Return labels and probabilities that are right on average."""
    probabilities = rng.dirichlet([1.0, 0.7, 0.4], n)
    labels = np.array([rng.choice(3, p=row) for row in probabilities])
    return labels, probabilities


COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])


def expected_costs(probabilities):
    """Return what each decision costs on average, given the chance of each class."""
    costs = []
    for decision in range(3):
        terms = [probabilities[t] * COSTS[t, decision] for t in range(3)]
        costs.append(sum(terms))
    return costs


def test_each_case_is_decided_at_the_least_expected_cost(rng):
    labels, probabilities = three_classes(rng)

    answer = trueness.multiclass_cost(labels, probabilities, COSTS)

    for chances, decision in zip(probabilities, answer.decision, strict=True):
        costs = expected_costs(chances)
        assert costs[decision] == min(costs)


def test_the_cost_is_the_mean_of_what_is_paid(rng):
    labels, probabilities = three_classes(rng)

    answer = trueness.multiclass_cost(labels, probabilities, COSTS)

    paid = COSTS[labels, answer.decision.astype(int)]
    standard_error = np.std(paid, ddof=1) / np.sqrt(paid.size)
    assert answer.cost.value == pytest.approx(np.mean(paid))
    assert answer.cost.se == pytest.approx(standard_error)


def test_decisions_are_counted_by_class(rng):
    labels, probabilities = three_classes(rng)

    answer = trueness.multiclass_cost(labels, probabilities, COSTS)

    third_as_first = (labels == 2) & (answer.decision == 0)
    assert answer.counts.sum() == len(labels)
    assert answer.counts[2, 0] == third_as_first.sum()


def test_what_is_saved_against_one_decision_for_all(rng):
    y, p = three_classes(rng)

    answer = trueness.multiclass_cost(y, p, COSTS)

    alike = [np.mean(COSTS[y, decision]) for decision in range(3)]
    assert answer.best_single_class == int(np.argmin(alike))
    assert answer.saving.value == pytest.approx(min(alike) - answer.cost.value)


def test_costs_by_name_are_those_of_the_matrix(rng):
    y, p = three_classes(rng)
    names = np.array(["low", "mid", "high"])
    by_name = {
        names[t]: {names[d]: COSTS[t, d] for d in range(3) if d != t} for t in range(3)
    }

    answer = trueness.multiclass_cost(names[y], p, by_name, classes=names)

    assert answer.cost == trueness.multiclass_cost(y, p, COSTS).cost
    assert answer.to_frame("dict")["cases"][1] == answer.counts[0, 1]


def test_cases_without_a_label_are_decided_and_not_counted(rng):
    y, p = three_classes(rng)
    known = np.where(np.arange(y.size) % 5, y, np.nan)

    answer = trueness.multiclass_cost(known, p, COSTS, classes=[0, 1, 2])

    labelled = np.arange(y.size) % 5 > 0
    assert answer.decision.size == y.size
    assert answer.cost == trueness.multiclass_cost(y[labelled], p[labelled], COSTS).cost


def test_scores_that_do_not_add_up_are_divided_by_their_sum(rng):
    y, p = three_classes(rng)

    answer = trueness.multiclass_cost(y, p / 2, COSTS)

    assert answer.cost == trueness.multiclass_cost(y, p, COSTS).cost
    assert "divided by their sum" in answer.notes[0]
    with pytest.raises(InputError, match="needs probabilities"):
        trueness.multiclass_cost(y, 3 * p, COSTS)


@pytest.mark.slow
def test_the_interval_of_a_mean_cost_covers(rng):
    """The mean cost of many cases is in 95 % intervals of 150 cases."""
    _, many = three_classes(rng, 20_000)
    decisions = np.argmin(many @ COSTS, axis=1)
    truth = np.mean(np.sum(many * COSTS[:, decisions].T, axis=1))
    held = 0

    for _ in range(400):
        interval = trueness.multiclass_cost(*three_classes(rng, 150), COSTS).cost
        held += interval.low <= truth <= interval.high

    assert 0.925 < held / 400 < 0.98


def test_classes_against_the_rest_are_no_groups():
    classes = NAMES[np.arange(60) % 3]
    scores = np.random.default_rng(2).dirichlet([1, 1, 1], 60)
    frame = pd.DataFrame(scores, columns=[f"p_{name}" for name in NAMES[:3]])

    by_hand = trueness.evaluate(
        trueness.one_vs_rest(classes, scores, classes=NAMES[:3])
    )
    found = trueness.evaluate(frame.assign(label=classes))

    assert "60 cases of 3 classes" in str(by_hand)
    expected = trueness.multiclass_auc(classes, scores, classes=NAMES[:3])
    for finding in (by_hand, found):
        assert finding.numbers["multiclass_auc"].value == expected.value
        assert list(finding.numbers["scores"]) == list(NAMES[:3])


def test_a_class_of_one_case_has_no_joint_auc():
    scores = np.eye(3)[[0, 1, 2, 0, 1]] + 0.1

    finding = trueness.evaluate(trueness.one_vs_rest(["a", "b", "c", "a", "b"], scores))

    assert finding.numbers["multiclass_auc"] is None
