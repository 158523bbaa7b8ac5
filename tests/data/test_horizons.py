"""Labels and weights at a horizon against riskRegression and prodlim of R."""

from __future__ import annotations

import numpy as np
import pytest

import trueness

CASE = np.arange(60)
TIME = 1 + (CASE * 37) % 61 / 4
TIME[[10, 20, 30]] = TIME[[11, 21, 31]]  # ties, of events and of censored cases
EVENT = ((CASE * 7) % 5 < 3).astype(int)
RISK = ((CASE * CASE * 13 + 5) % 97 + 1) / 99


@pytest.mark.parametrize(
    ("horizon", "auc", "brier"),
    [(6, 0.405115859442, 0.363356677129), (10, 0.368460950075, 0.388577955048)],
)
def test_auc_and_brier_are_those_of_risk_regression(horizon, auc, brier):
    result = trueness.at_horizon(TIME, EVENT, horizon)

    # riskRegression::Score(..., cens.model = "km", times = horizon)
    weighted = {"weight": result.weight}
    assert trueness.auc(result.label, RISK, **weighted).value == pytest.approx(auc)
    assert trueness.brier(result.label, RISK, **weighted).value == pytest.approx(brier)


def test_weights_are_inverse_probabilities_of_prodlim():
    result = trueness.at_horizon(TIME, EVENT, 10)

    # predict(prodlim(Hist(time, event) ~ 1, reverse = TRUE), times = 10)
    assert 1 / result.weight[TIME > 10] == pytest.approx(0.604493306880)
    assert result.weight.sum() == pytest.approx(60)


def test_labels_are_missing_where_cases_were_censored_before():
    result = trueness.at_horizon(TIME, EVENT, 6)

    assert (result.n_events, result.n_event_free, result.n_censored) == (14, 42, 4)
    censored = (TIME <= 6) & (EVENT == 0)
    assert np.isnan(result.label).tolist() == censored.tolist()
    assert (result.weight[censored] == 0).all()


def test_without_censoring_all_weights_are_one():
    result = trueness.at_horizon([1.0, 2.0, 3.0], [1, 1, 1], 2)

    assert result.label.tolist() == [1, 1, 0]
    assert result.weight.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        ([1, np.nan], [0, 1], "finite and not negative; found nan at position 1"),
        ([1, 2], [0], "one entry per time; found 1 for 2"),
        ([1, 2], [0, 2], "Competing events"),
        ([], [], "found none"),
        ([1, 2], [0, 0], "were censored by the horizon 5"),
    ],
)
def test_errors_say_what_was_found(time, event, message):
    with pytest.raises(ValueError, match=message):
        trueness.at_horizon(time, event, 5)
