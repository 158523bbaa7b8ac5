"""Verification: what follows, by other software, and 200 forgeries."""

import json

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

import trueness
from forged_declarations import FORGERIES, changed
from trueness.declarations.json_format import declaration_text

NOT = "does not follow"


def arrangement(columns, sharpest):
    """Return labels and scores with the positives of each bin first, or last."""
    labels = []
    scores = []
    rows = zip(
        columns["score"], columns["high"], columns["neg"], columns["pos"], strict=True
    )
    for low, high, neg, pos in rows:
        upper, lower = (high, low) if sharpest else (low, high)
        labels += [1] * pos + [0] * neg
        scores += [upper] * pos + [lower] * neg
    return np.array(labels), np.array(scores)


def stated(content, measure, **where):
    return next(
        m
        for m in content["measured"]
        if m["measure"] == measure and all(m.get(k) == v for k, v in where.items())
    )


def failures(content):
    return trueness.verify(content).failures


def test_an_honest_declaration_follows(declaration):
    answer = trueness.verify(declaration)

    assert answer.verdict == "follows within these bounds"
    assert answer
    assert answer.failures == ()
    assert len(answer.checks) > 100


def test_exact_counts_follow_without_bounds(cases):
    label, score, _ = cases

    exact = trueness.declare(label, score, at=0.3, private=1)

    assert trueness.verify(exact).verdict == "follows"
    assert stated(exact.to_dict(), "auc")["value"] == pytest.approx(
        roc_auc_score(label, score), abs=5e-5
    )


def test_bounds_are_those_of_extreme_arrangements(declaration):
    content = declaration.to_dict()
    columns = content["evidence"]["counts"]["columns"]
    best = arrangement(columns, sharpest=True)
    worst = arrangement(columns, sharpest=False)

    area = [roc_auc_score(*worst), roc_auc_score(*best)]
    loss = [brier_score_loss(*best), brier_score_loss(*worst)]

    assert stated(content, "auc")["bounds"] == pytest.approx(area, abs=5e-5)
    assert stated(content, "brier")["bounds"] == pytest.approx(loss, abs=5e-5)


def test_numbers_of_the_rows_are_stated(declaration, cases):
    label, score, hospital = cases
    content = declaration.to_dict()

    value = stated(content, "auc")["value"]
    assert value == pytest.approx(roc_auc_score(label, score), abs=5e-5)
    value = stated(content, "brier")["value"]
    assert value == pytest.approx(brier_score_loss(label, score), abs=5e-5)
    flagged = score >= 0.3
    value = stated(content, "recall", threshold=0.3, column=None)["value"]
    assert value == pytest.approx(flagged[label == 1].mean(), abs=5e-5)
    here = (hospital == "hospital 2") & (label == 0)
    value = stated(
        content, "specificity", threshold=0.3, group="hospital 2"
    )["value"]  # fmt: skip
    assert value == pytest.approx((~flagged[here]).mean(), abs=5e-5)


def test_no_hidden_cell_can_be_computed_from_a_stated_value(declaration):
    """At 0.97 a cell is small: no number of it may be stated."""
    content = declaration.to_dict()

    at_hidden = [m for m in content["measured"] if m.get("threshold") == 0.97]

    assert declaration.privacy.hidden == (0.97,)
    assert at_hidden
    assert all(m["value"] is None and "bounds" in m for m in at_hidden)
    for table in content["tables"]:
        if table["threshold"] == 0.97:
            assert isinstance(table["tp"], list)


def unnoticed(declaration, forge, every):
    """Return forgeries of one kind that verification does not name, and how many."""
    content = json.loads(declaration_text(declaration))
    forged = list(forge(content))[::every]
    return [one for one in forged if not failures(one)], len(forged)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda f: f.__name__)
def test_forgeries_that_change_an_answer_are_named(declaration, forge):
    not_named, number = unnoticed(declaration, forge, every=11)

    assert number > 0
    assert not_named == []


@pytest.mark.slow
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda f: f.__name__)
def test_every_forgery_that_changes_an_answer_is_named(declaration, forge):
    not_named, _ = unnoticed(declaration, forge, every=1)

    assert not_named == []


def test_there_are_two_hundred_forgeries(declaration):
    content = json.loads(declaration_text(declaration))

    assert sum(len(list(forge(content))) for forge in FORGERIES) >= 200


def test_a_forgery_is_named_by_what_it_is_about(declaration):
    content = declaration.to_dict()
    place = content["measured"].index(stated(content, "recall", threshold=0.3))

    forged = changed(content, ("measured", place, "value"), 0.98)

    (failure,) = failures(forged)
    assert str(failure).startswith("sensitivity at 0.3: 0.9800 does not follow")


def test_what_changes_no_answer_is_not_named(declaration):
    content = json.loads(declaration_text(declaration))
    columns = content["evidence"]["counts"]["columns"]
    upside_down = {name: values[::-1] for name, values in columns.items()}
    groups = content["evidence"]["groups"]["hospital"]
    harmless = [
        changed(content, ("evidence", "counts", "columns"), upside_down),
        changed(
            content, ("evidence", "groups", "hospital"),
            dict(reversed(list(groups.items()))),
        ),
        changed(content, ("measured",), content["measured"][::-1]),
        changed(content, ("tables",), content["tables"][::-1]),
        changed(content, ("said", "population"), "Children"),
        changed(content, ("title",), "Another title"),
        changed(content, ("note",), "a member that nobody knows"),
        changed(content, ("evidence", "counts", "columns", "neg", 0),
                float(columns["neg"][0])),
        dict(reversed(list(content.items()))),
    ]  # fmt: skip

    for forged in harmless:
        assert failures(forged) == ()


def test_a_value_within_its_bounds_follows_within_them(declaration):
    content = declaration.to_dict()
    area = stated(content, "auc", column=None)
    place = content["measured"].index(area)

    inside = changed(content, ("measured", place, "value"), area["bounds"][0])

    assert trueness.verify(inside).verdict == "follows within these bounds"


def test_claims_that_fail_are_verified_too(cases):
    label, score, _ = cases

    failing = trueness.declare(label, score, claims="auc >= 0.99")

    answer = trueness.verify(failing)
    assert answer
    assert answer.claims == "fails"


def test_the_digest_of_the_predictions_is_compared(tmp_path, cases):
    label, score, _ = cases
    file = tmp_path / "predictions.csv"
    file.write_text("y,p\n1,0.5\n")

    stated_of_file = trueness.declare(label, score, source=file)

    assert trueness.verify(stated_of_file, data=file)
    file.write_text("y,p\n0,0.5\n")
    assert not trueness.verify(stated_of_file, data=file)


def test_the_digest_of_a_declaration_is_that_of_its_content(declaration):
    content = json.loads(declaration_text(declaration))

    same = trueness.verify(dict(reversed(list(content.items()))))
    other = trueness.verify(changed(content, ("said", "unit"), "image"))

    assert same.digest == trueness.verify(declaration).digest
    assert other.digest != same.digest


def test_few_cases_without_a_label_are_left_out_and_not_counted(cases):
    label, score, _ = cases
    partly = label.astype(float)
    partly[:3] = np.nan

    few = trueness.declare(partly, score, at=0.3)
    partly[:300] = np.nan
    many = trueness.declare(partly, score, at=0.3)

    assert few.counts.n_unknown == many.counts.n_unknown == 0
    assert few.flow.rows is few.flow.without_label is None
    assert many.flow.without_label == 300
    assert many.flow.rows == label.size
    assert trueness.verify(few)
    assert trueness.verify(many)


@pytest.mark.parametrize(
    ("missing", "expected", "rows"),
    [
        ({}, {}, 1920),
        ({"neg": 12, "pos": 7}, {"neg": 12, "pos": 7}, 1939),
        ({"neg": 12, "pos": 2}, {"any": 14}, 1934),
        ({"neg": 2, "pos": 1}, None, None),
    ],
)
def test_few_rows_without_a_score_are_not_counted(cases, missing, expected, rows):
    label, score, _ = cases

    stated_flow = trueness.declare(label, score, without_score=missing).flow

    assert stated_flow.without_score == expected
    assert stated_flow.rows == rows
