"""Records show themselves, as text, HTML, JSON and tables."""

import copy
import json
import math
import pickle
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

import trueness
from trueness import Estimate, Tally
from trueness._core.records import Record, brief
from trueness.records import Confusion


def test_an_estimate_reads_like_a_sentence():
    e = Estimate(0.61196, 0.50124, 0.72267, 0.95, "delong")

    assert repr(e) == str(e) == "0.612 (95 % CI 0.501 to 0.723)"
    assert float(e) == 0.61196
    assert e.to_dict()["se"] is None
    assert "0.612 (95 % CI 0.501 to 0.723)" in e._repr_html_()
    assert e.to_frame()["value"].tolist() == [0.61196]


def test_json_has_no_infinity():
    e = Estimate(math.nan, -math.inf, math.inf)
    text = json.dumps(e.to_dict(), allow_nan=False)

    assert json.loads(text)["low"] == "-inf"
    assert json.loads(text)["value"] is None


def test_arrays_become_columns():
    c = trueness.sweep(trueness.tally([1, 0], [2, 1]))

    assert c.to_frame("dict")["tp"] == [0, 1, 1]
    assert json.loads(json.dumps(c.to_dict()))["fp"] == [0, 0, 1]

    lines = "Confusion\n  tp: 1\n  fp: 2\n  fn: 3\n  tn: 4"

    assert repr(Confusion(1, 2, 3, 4)) == lines


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (np.int64(1234567), "1,234,567"),
        (np.arange(9), "[0, 1, ..., 8] (9 entries)"),
        (np.zeros((2, 2)), "array of shape (2, 2)"),
        ({"a": 0.5}, "a: 0.5"),
        ((1, 2.5), "1, 2.5"),
        (None, "None"),
    ],
)
def test_values_in_one_line(value, text):
    assert brief(value) == text


def test_a_curve_shows_itself_and_parts_stand_one_a_line():
    tally = trueness.Tally([0.9, 0.5, 0.1], pos=[3, 2, 1], neg=[1, 2, 3])
    shown = trueness.roc(tally)._repr_html_()

    assert 'alt="true positive rate (recall) against false positive rate"' in shown
    assert "<svg" not in shown  # Jupyter takes those out of notebooks that it distrusts

    pair = trueness.panel([0, 1, 0, 1], {"<a>": [1, 2, 3, 4], "b": [4, 3, 2, 1]})
    shown = trueness.compare_auc(pair)._repr_html_()

    assert "&lt;a&gt;" in shown
    assert "<a>" not in shown


def test_notes_are_shown_where_there_are_any() -> None:
    quiet = Estimate(0.5, 0.4, 0.6)

    assert "notes" not in quiet._repr_html_()
    assert "Note" not in repr(quiet)
    assert quiet.to_dict()["notes"] == []
    assert "notes" not in quiet.to_frame().columns

    said = Estimate(0.5, 0.4, 0.6, notes=("Labels depend on the score.",))

    assert repr(said).endswith("\n  Note: Labels depend on the score.")
    assert said.to_dict()["notes"] == ["Labels depend on the score."]
    assert "Labels depend" in said._repr_html_()
    assert said.to_frame()["notes"][0] == "Labels depend on the score."


@pytest.fixture
def estimate():
    """An AUC of 0.85179 with its interval."""
    return Estimate(0.85179, 0.83561, 0.86682, 0.95, "score", name="AUC")


def test_an_estimate_is_written_and_rounded_as_its_number(estimate):
    assert str(estimate) == "AUC 0.852 (95 % CI 0.836 to 0.867)"
    assert f"{estimate}" == str(estimate)
    assert f"{estimate:.3f}" == "0.852"
    assert round(estimate, 2) == 0.85
    assert round(estimate) == 1.0


def test_an_estimate_is_compared_as_its_number(estimate):
    larger = Estimate(0.9, 0.8, 1)

    assert estimate > 0.8
    assert not estimate > 0.9
    assert 0.9 >= estimate >= 0.8
    assert estimate < larger
    assert max([estimate, larger]).value == 0.9


def test_an_estimate_computes_as_its_number(estimate):
    value = 0.85179

    assert (1 - estimate, estimate + estimate) == (1 - value, 2 * value)
    assert (2 * estimate, estimate / 2) == (2 * value, value / 2)
    assert (-estimate, abs(estimate)) == (-value, value)
    assert np.mean([estimate, estimate]) == pytest.approx(value)


def test_estimates_are_equal_with_their_intervals(estimate):
    same = Estimate(0.85179, 0.83561, 0.86682, 0.95, "score", name="AUC")

    assert estimate == same
    assert estimate == 0.85179
    assert estimate != Estimate(0.85179, 0.8, 0.9)
    assert hash(estimate) == hash(0.85179)


def test_tables_hold_numbers():
    row = Estimate(0.85, 0.83, 0.87).to_frame("dict")

    assert row["value"] == [0.85]

    counts = trueness.confusion([0, 1] * 1500, np.arange(3000), 100).to_frame("dict")

    assert counts["tp"] == [1450]

    point = trueness.best_threshold([0, 1] * 1500, np.arange(3000) % 7)
    cells = [v[0] for v in point.to_frame("dict").values()]

    assert not [v for v in cells if isinstance(v, str) and re.fullmatch("[0-9,]+", v)]


def test_records_are_equal_by_their_fields():
    tally = Tally([3, 2, 1], pos=[2, 1, 0], neg=[0, 1, 2])
    for ask in (trueness.roc, trueness.cost_curve, trueness.best_threshold):
        result = ask(tally)
        assert result == ask(tally)
        assert hash(result) == hash(ask(tally))
        assert result == copy.deepcopy(result) == pickle.loads(pickle.dumps(result))  # noqa: S301
        assert result != ask(Tally([3, 2, 1], pos=[2, 2, 0], neg=[0, 1, 2]))
        assert result != 3

    pair = trueness.records.Pair(
        "a", "b", Estimate(0.1, 0, 0.2), 0.2, 0.2, 0.2
    )  # NaN inside

    assert pair == copy.deepcopy(pair) != replace(pair, margin=0.1)


def test_records_of_values_that_hold_arrays_can_be_compared():
    """As the posterior of a latent class model does, whose model holds patterns."""

    @dataclass(frozen=True)
    class Inner:
        values: np.ndarray

    @dataclass(frozen=True)
    class Outer(Record):
        inner: Inner

    one, same, other = (Outer(Inner(np.array(v))) for v in ([1, 2], [1, 2], [1, 3]))

    assert one == same
    assert one != other
