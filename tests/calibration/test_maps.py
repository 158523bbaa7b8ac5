"""Maps are values: called, compared, saved, loaded, carried to another prevalence."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import pytest

import trueness
from conftest import tied_cases
from trueness.calibration import maps
from trueness.calibration.formulas import (
    StepFunction,
)


@pytest.fixture
def tally(rng):
    y, score = tied_cases(rng, 200)
    return trueness.tally(y, 1 / (1 + np.exp(-score)))


@pytest.mark.parametrize("method", sorted(trueness.CALIBRATORS))
def test_every_map_comes_back_from_a_file_to_the_last_bit(method, tally, tmp_path):
    c = trueness.calibrate(tally, method=method)
    c.save(tmp_path / "map.json")
    back = trueness.load_map(tmp_path / "map.json")
    assert back == c
    assert type(back) is type(c)
    s = np.linspace(-0.5, 1.5, 101)
    np.testing.assert_array_equal(back(s), c(s))
    assert "pickle" not in (tmp_path / "map.json").read_text()


@pytest.mark.parametrize("method", sorted(trueness.CALIBRATORS))
def test_a_map_keeps_the_shape_and_missing_scores(method, tally):
    c = trueness.calibrate(tally, method=method)
    assert c(0.5).shape == ()
    assert c(np.full((2, 3), 0.5)).shape == (2, 3)
    assert c([]).shape == (0,)
    assert np.isnan(c([np.nan, 0.5])).tolist() == [True, False]
    assert tally.map(c).n == tally.n


def test_maps_that_differ_are_not_equal(tally):
    c = trueness.calibrate(tally, method="platt")
    assert c != trueness.calibrate(tally + tally.map(lambda s: s / 2), method="platt")
    assert c != trueness.calibrate(tally, method="isotonic")
    assert c != "platt"


def test_tables_of_a_map_are_read_only(tally):
    c = trueness.calibrate(tally, method="isotonic")
    with pytest.raises(ValueError, match="read-only"):
        c.score[0] = 1


@final
@dataclass(frozen=True, repr=False, eq=False)
class Everything(maps.Map):
    number: float
    words: tuple
    table: dict
    inner: trueness.records.Map
    grid: np.ndarray
    nothing: None = None

    @property
    def expression(self):
        return StepFunction(np.zeros(0), np.array([self.number]))


def test_a_new_kind_of_map_can_hold_every_kind_of_field(tally, monkeypatch, tmp_path):
    monkeypatch.setattr(maps, "MAPS", dict(maps.MAPS))
    maps.register("everything")(Everything)
    inner = trueness.calibrate(tally, method="beta")
    m = Everything(
        np.nan, ("a", (1, True)), {"x": np.inf}, inner, np.array([[1, -np.inf], [2, 3]])
    )
    trueness.save_map(m, tmp_path / "m.json")
    back = trueness.load_map(tmp_path / "m.json")
    assert back == m
    assert back.table == {"x": np.inf}
    with pytest.raises(
        trueness.InputError, match="already a kind of map called 'platt'"
    ):
        maps.register("platt")(Everything)


def test_what_cannot_be_saved_says_so(tally, monkeypatch, tmp_path):
    inner = trueness.calibrate(tally, method="beta")
    m = Everything(0.0, (), {}, inner, np.zeros(1))
    with pytest.raises(trueness.InputError, match="not in the registry"):
        trueness.save_map(m, tmp_path / "m.json")
    monkeypatch.setattr(maps, "MAPS", maps.MAPS | {"everything": Everything})
    with pytest.raises(trueness.InputError, match="found set"):
        trueness.save_map(Everything(0.0, {1}, {}, inner, np.zeros(1)), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(trueness.InputError, match="no folder"):
        trueness.save_map(inner, tmp_path / "no" / "m.json")


GOOD = {
    "format": "trueness map",
    "version": 1,
    "type": "isotonic",
    "fields": {
        "score": {"array": [1, 2], "shape": [2]},
        "probability": {"array": [0.1, 0.2], "shape": [2]},
    },
}


def broken(**changes):
    return {**GOOD, **changes}


def with_score(score):
    return broken(fields={**GOOD["fields"], "score": score})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "was not written by trueness.save_map"),
        (broken(format="other"), "was not written by trueness.save_map"),
        (broken(version=2), "has format 2; this Trueness reads up to 1"),
        (broken(version="x"), "has format x"),
        (broken(type="isotnic"), "Did you mean 'isotonic'"),
        (broken(type=["isotonic"]), "must be one of"),
        (broken(fields={}), "has the fields 'probability', 'score'"),
        (broken(fields=None), "found None"),
        (with_score({"array": [1, 2, 3], "shape": [3]}), "one value per score"),
        (with_score({"array": [2, 1], "shape": [2]}), "one ascending array"),
        (with_score({"array": ["x", 1], "shape": [2]}), "does not hold numbers"),
        (with_score({"array": [1, 2], "shape": [7]}), "does not hold numbers"),
        (with_score({"what": 1}), "damaged: it holds 'what'"),
        (with_score({"number": "os.system"}), "damaged"),
        (with_score({"type": "evil", "fields": {}}), "must be one of"),
    ],
)
def test_a_damaged_file_is_answered_with_a_sentence(content, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(content))
    with pytest.raises(trueness.InputError, match=message):
        trueness.load_map(path)


def test_a_file_that_is_no_map(tmp_path):
    with pytest.raises(trueness.InputError, match="There is no file"):
        trueness.load_map(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(trueness.InputError, match="it is not valid JSON"):
        trueness.load_map(tmp_path / "bad.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(trueness.InputError, match="it is not valid JSON"):
        trueness.load_map(tmp_path / "deep.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(trueness.InputError, match="not text"):
        trueness.load_map(tmp_path / "bytes.json")
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    assert trueness.load_map(tmp_path / "good.json")(1.5) == pytest.approx(0.15)


def test_prevalence_shift_is_bayes_rule(tally):
    c = trueness.calibrate(tally, method="platt")
    new = trueness.at_prevalence(c, tally.prevalence, 0.01)
    odds = 0.01 / 0.99 / (tally.prevalence / (1 - tally.prevalence))
    p, q = c(tally.score), new(tally.score)
    np.testing.assert_allclose(q / (1 - q), odds * p / (1 - p), rtol=1e-12)
    back = trueness.at_prevalence(new, 0.01, tally.prevalence)
    np.testing.assert_allclose(back(tally.score), p, rtol=1e-12)


def test_prevalence_shift_keeps_certainty_and_the_interval(tally, tmp_path):
    c = trueness.calibrate(tally, method="venn-abers")
    new = trueness.at_prevalence(c, 0.4, 0.1)
    low, high = new.interval([0.1, 0.9])
    assert (low < new([0.1, 0.9])).all()
    assert (new([0.1, 0.9]) < high).all()
    sure = trueness.at_prevalence(
        trueness.calibration.calibrators.Isotonic([0, 1], [0, 1]), 0.4, 0.1
    )
    assert sure([0.0, 1.0]).tolist() == [0, 1]
    with pytest.raises(trueness.InputError, match="Isotonic has no interval"):
        sure.interval([0.1])
    new.save(tmp_path / "m.json")
    assert trueness.load_map(tmp_path / "m.json") == new


def test_prevalence_shift_says_what_it_needs(tally):
    c = trueness.calibrate(tally, method="platt")
    with pytest.raises(trueness.InputError, match=r"old must lie in \(0, 1\); found 0"):
        trueness.at_prevalence(c, 0, 0.1)
    with pytest.raises(trueness.InputError, match=r"Type new=0.1"):
        trueness.at_prevalence(c, 0.5, 10)
    with pytest.raises(trueness.InputError, match="needs a fitted map"):
        trueness.at_prevalence(np.exp, 0.5, 0.1)


NEW_CALIBRATOR = '''
@register("halfway")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Halfway(Map):
    """Half the score."""

    slope: float

    @property
    def expression(self):
        return Linear(np.array([0.0, 1.0]), np.array([0.0, self.slope]))


def halfway(t, *, slope=0.5):
    return Halfway(slope)
'''
NEW_COMBINER = '''
@register("lowest")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Lowest(Map):
    """The lowest output."""

    names: tuple

    def __call__(self, rows):
        return np.nanmin(rows, axis=1)


def lowest(panel):
    return Lowest(panel.names)
'''
ADDED = {
    "calibration/calibrators.py": (NEW_CALIBRATOR, '"auto": auto,', "halfway"),
    "ensembles/combiners.py": (NEW_COMBINER, '"mean-score": mean_score,', "lowest"),
}
IMPORTS = """
import numpy as np
from dataclasses import dataclass
from typing import final
from trueness.calibration.formulas import Linear
from trueness.calibration.maps import Map, register
"""
MADE = {
    "halfway": "m = trueness.calibrate(trueness.Tally([0.2, 0.4], [1, 1], [1, 1]), "
    "method='halfway')",
    "lowest": "m = trueness.COMBINERS['lowest'](trueness.Panel(['a', 'b'], [[1, 2]], "
    "[1]))",
}


@pytest.mark.parametrize("place", ADDED)
def test_a_new_method_is_one_entry_and_its_map_loads_elsewhere(place, tmp_path):
    """A copy of the package is given a method; another process reads its map."""
    body, entry, name = ADDED[place]
    copy = tmp_path / "trueness"
    shutil.copytree(Path(trueness.__file__).parent, copy)
    text = (copy / place).read_text()
    # the class and the function in a module of their own, and one entry of the table
    (copy / place).with_name("added.py").write_text(IMPORTS + body)
    room = place.split("/")[0]
    text = text.replace(
        "import annotations\n",
        f"import annotations\nfrom trueness.{room}.added import {name}\n",
    )
    (copy / place).write_text(text.replace(entry, f"{entry} '{name}': {name},"))
    environment = {"PYTHONPATH": str(tmp_path)}

    def python(code):
        command = [sys.executable, "-c", f"import trueness; {code}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return done.stdout

    path = str(tmp_path / "m.json")
    made = python(f"{MADE[name]}; m.save({path!r}); print(repr(m))")
    assert python(f"print(repr(trueness.load_map({path!r})))") == made


@pytest.mark.parametrize("path", [None, 3, 3.5, [], {}])
def test_what_is_no_file_is_answered_in_words(path, tally):
    c = trueness.calibrate(tally, method="platt")
    with pytest.raises(trueness.InputError, match="needs the name of a file"):
        trueness.load_map(path)
    with pytest.raises(trueness.InputError, match="needs the name of a file"):
        trueness.save_map(c, path)
    with pytest.raises(trueness.InputError, match="save_map needs a fitted map"):
        trueness.save_map(path, "map.json")
    if path not in (3, 3.5, []):
        with pytest.raises((trueness.InputError, TypeError)):
            c(path if path is not None else "x")


HARD = {
    "huge": ([1.7e308, -1.7e308, 1e308], [1, 2, 1], [2, 1, 1]),
    "largest": ([np.finfo(float).max, np.finfo(float).min], [1, 2], [2, 1]),
    "subnormal": ([5e-324, 1e-323, 0, -5e-324], [1, 2, 1, 1], [2, 1, 1, 1]),
    "subnormal shares": ([5e-324, 1e-310, 0, 1.0], [1, 2, 1, 1], [2, 1, 1, 1]),
    "one score": ([0.3], [1], [1]),
    "neighbours": ([0.5, np.nextafter(0.5, 1)], [3, 2], [1, 2]),
    "many": ([0.2, 0.5, 0.8], [10**17, 10**17, 10**9], [10**9, 4 * 10**9, 10**18]),
}
NEW = [0, 1, -1e308, 1e308, 5e-324, 0.5, np.nan, np.finfo(float).max]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HARD)
def test_no_warning_of_numpy_reaches_a_user(name):
    t, fitted = trueness.Tally(*HARD[name]), []
    for method in trueness.CALIBRATORS:
        try:
            c = trueness.calibrate(t, method=method)
        except (trueness.InputError, trueness.NotEnoughCases):
            continue
        fitted.append(method)
        p = c(NEW)
        assert np.isnan(p[6])
        assert ((p[:6] >= 0) & (p[:6] <= 1)).all()
        assert maps.map_from_json(maps.map_to_json(c)) == c
        assert t.map(c).n == t.n
    assert {"isotonic", "histogram"} <= set(fitted)
    if t.score.min() >= 0 and t.score.max() <= 1:
        for name in ("calibration_error", "calibration_index", "brier", "log_loss"):
            assert getattr(trueness, name)(t).to_dict()
        assert trueness.reliability(t, replicates=20)
