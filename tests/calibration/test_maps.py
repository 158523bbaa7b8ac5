"""Maps are values: called, compared, saved, loaded, carried to another prevalence."""

import copy
import json
from dataclasses import dataclass
from typing import final

import numpy as np
import pytest

import trueness
from conftest import tied_cases
from trueness.calibration import maps


@pytest.fixture
def tally(rng):
    labels, score = tied_cases(rng, 200)
    return trueness.tally(labels, 1 / (1 + np.exp(-score)))


@pytest.mark.parametrize("method", sorted(trueness.CALIBRATORS))
def test_every_map_comes_back_from_a_file_to_the_last_bit(method, tally, tmp_path):
    c = trueness.calibrate(tally, method=method)
    c.save(tmp_path / "map.json")
    back = trueness.load_map(tmp_path / "map.json")

    assert back == c
    assert type(back) is type(c)

    s = np.linspace(-0.5, 1.5, 101)

    np.testing.assert_array_equal(back(s), c(s))

    # shapes and missing scores stay
    assert c(0.5).shape == ()
    assert c(np.full((2, 3), 0.5)).shape == (2, 3)
    assert c([]).shape == (0,)
    assert np.isnan(c([np.nan, 0.5])).tolist() == [True, False]
    assert tally.map(c).n == tally.n


def test_maps_are_values(tally):
    c = trueness.calibrate(tally, method="platt")

    assert c != trueness.calibrate(tally + tally.map(lambda s: s / 2), method="platt")
    assert c != trueness.calibrate(tally, method="isotonic")
    assert c != "platt"
    with pytest.raises(ValueError, match="read-only"):
        trueness.calibrate(tally, method="isotonic").score[0] = 1


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
        return (("table", np.zeros(0), np.array([self.number])),)


def test_a_new_kind_of_map_can_hold_every_kind_of_field(tally, monkeypatch, tmp_path):
    monkeypatch.setattr(maps, "MAPS", dict(maps.MAPS))
    maps.register("everything")(Everything)
    inner = trueness.calibrate(tally, method="beta")
    grid = np.array([[1, -np.inf], [2, 3]])
    m = Everything(np.nan, ("a", (1, True)), {"x": np.inf}, inner, grid)
    trueness.save_map(m, tmp_path / "m.json")
    back = trueness.load_map(tmp_path / "m.json")

    assert back == m
    assert back.table == {"x": np.inf}
    with pytest.raises(trueness.InputError, match="already a kind of map called 'plat"):
        maps.register("platt")(Everything)


def test_what_cannot_be_saved_says_so(tally, monkeypatch, tmp_path):
    inner = trueness.calibrate(tally, method="beta")
    m, wrong = (Everything(0.0, x, {}, inner, np.zeros(1)) for x in ((), {1}))

    with pytest.raises(trueness.InputError, match="not in the registry"):
        m.save(tmp_path / "m.json")

    monkeypatch.setattr(maps, "MAPS", maps.MAPS | {"everything": Everything})

    with pytest.raises(trueness.InputError, match="found set"):
        wrong.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(trueness.InputError, match="no folder"):
        inner.save(tmp_path / "no" / "m.json")


FIELDS = {
    "score": {"array": [1, 2], "shape": [2]},
    "probability": {"array": [0.1, 0.2], "shape": [2]},
}
GOOD = {"format": "trueness map", "version": 1, "type": "isotonic", "fields": FIELDS}


def with_score(score):
    return {"fields": {**FIELDS, "score": score}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "does not hold a saved map"),
        ({"version": 2}, "has format 2; this Trueness reads up to 1"),
        ({"version": "x"}, "has format x"),
        ({"type": "isotnic"}, "Did you mean 'isotonic'"),
        ({"type": ["isotonic"]}, "must be one of"),
        ({"fields": {}}, "has the fields 'probability', 'score'"),
        ({"fields": None}, "found None"),
        (with_score({"array": [1, 2, 3], "shape": [3]}), "one value per score"),
        (with_score({"array": [2, 1], "shape": [2]}), "must be in ascending order"),
        (with_score({"array": ["x", 1], "shape": [2]}), "does not hold numbers"),
        (with_score({"array": [1, 2], "shape": [7]}), "does not hold numbers"),
        (with_score({"what": 1}), "damaged: it holds 'what'"),
        (with_score({"number": "os.system"}), "damaged"),
        (with_score({"type": "evil", "fields": {}}), "must be one of"),
    ],
)
def test_a_damaged_file_is_answered_with_a_sentence(change, message):
    with pytest.raises(trueness.InputError, match=message):
        maps.map_from_json(json.dumps(GOOD | change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no file"),
        (b"{", "it is not valid JSON"),
        (b"[" * 100_000, "it is not valid JSON"),
        (b"[1]", "does not hold a saved map"),
        (b'{"trueness": "rule", "upper": 0.5}', "commands threshold and sql"),
        (bytes([255, 254, 0, 216]), "not text"),
    ],
)
def test_a_file_that_is_no_map(content, message, tmp_path):
    path = tmp_path / "map.json"
    if content:
        path.write_bytes(content)

    with pytest.raises(trueness.InputError, match=message):
        trueness.load_map(path)

    path.write_text(json.dumps(GOOD))

    assert trueness.load_map(path)(1.5) == pytest.approx(0.15)


def odds_of(probability):
    """Return the odds of probabilities."""
    return probability / (1 - probability)


def test_prevalence_shift_is_bayes_rule(tally):
    calibrator = trueness.calibrate(tally, method="platt")

    shifted = trueness.at_prevalence(calibrator, tally.prevalence, 0.01)

    odds_ratio = (0.01 / 0.99) / (tally.prevalence / (1 - tally.prevalence))
    odds = odds_of(calibrator(tally.score))
    np.testing.assert_allclose(
        odds_of(shifted(tally.score)), odds_ratio * odds, rtol=1e-12
    )


def test_prevalence_shift_keeps_certainty_and_the_interval(tally, tmp_path):
    c = trueness.calibrate(tally, method="venn-abers")
    new = trueness.at_prevalence(c, 0.4, 0.1)
    low, high = new.interval([0.1, 0.9])

    assert (low < new([0.1, 0.9])).all()
    assert (new([0.1, 0.9]) < high).all()

    new.save(tmp_path / "m.json")

    assert trueness.load_map(tmp_path / "m.json") == new

    apart = trueness.Tally([0, 1], [2, 0], [0, 2])
    certain = trueness.calibrate(apart, method="isotonic")
    sure = trueness.at_prevalence(certain, 0.4, 0.1)

    assert sure([0.0, 1.0]).tolist() == [0, 1]
    with pytest.raises(trueness.InputError, match="Isotonic has no interval"):
        sure.interval([0.1])
    with pytest.raises(trueness.InputError, match=r"old must lie in \(0, 1\); found 0"):
        trueness.at_prevalence(c, 0, 0.1)
    with pytest.raises(trueness.InputError, match=r"Type new=0.1"):
        trueness.at_prevalence(c, 0.5, 10)
    with pytest.raises(trueness.InputError, match="needs a fitted map"):
        trueness.at_prevalence(np.exp, 0.5, 0.1)


@pytest.mark.parametrize("path", [None, 3, 3.5, [], {}])
def test_what_is_no_file_is_answered_in_words(path, tally):
    c = trueness.calibrate(tally, method="platt")
    for act in (trueness.load_map, lambda path: trueness.save_map(c, path)):
        with pytest.raises(trueness.InputError, match="needs the name of a file"):
            act(path)

    with pytest.raises(trueness.InputError, match="save_map needs a fitted map"):
        trueness.save_map(path, "map.json")
    with pytest.raises(trueness.InputError, match="A map needs scores"):
        c("x")


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


def test_a_prevalence_shift_can_be_undone(tally):
    calibrator = trueness.calibrate(tally, method="platt")
    shifted = trueness.at_prevalence(calibrator, tally.prevalence, 0.01)

    restored = trueness.at_prevalence(shifted, 0.01, tally.prevalence)

    np.testing.assert_allclose(
        restored(tally.score), calibrator(tally.score), rtol=1e-12
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HARD)
def test_no_warning_of_numpy_reaches_a_user_of_probabilities(name):
    tally = trueness.Tally(*HARD[name])
    if tally.score.min() < 0 or tally.score.max() > 1:
        return

    for analysis in (
        trueness.calibration_error,
        trueness.calibration_index,
        trueness.brier,
        trueness.log_loss,
    ):
        assert analysis(tally).to_dict()
    assert trueness.reliability(tally, replicates=20)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HARD)
def test_no_warning_of_numpy_reaches_a_user_of_a_map(name):
    tally = trueness.Tally(*HARD[name])
    fitted_methods = set()
    for method in trueness.CALIBRATORS:
        try:
            calibrator = trueness.calibrate(tally, method=method)
        except (trueness.InputError, trueness.NotEnoughCases):
            continue
        fitted_methods.add(method)

        probability = calibrator(NEW)

        is_missing = np.isnan(NEW)
        assert np.isnan(probability[is_missing]).all()
        assert (probability[~is_missing] >= 0).all()
        assert (probability[~is_missing] <= 1).all()
        assert maps.map_from_json(maps.map_to_json(calibrator)) == calibrator
        assert tally.map(calibrator).n == tally.n

    assert {"isotonic", "histogram"} <= fitted_methods


WRONG = [
    None, "x", -1, 0, 1e308, True, [], {}, 10**400,
    {"number": "nan"}, {"number": "inf"}, {"list": [None]}, {"list": ["a", "a"]},
    {"mapping": {"a": 1}}, {"array": [], "shape": [0]},
    {"array": [3, 1, 2], "shape": [3]}, {"array": [-5.0, 9.0], "shape": [2]},
    {"array": [{"number": "nan"}], "shape": [1]}, {"array": [1], "shape": [10**12]},
    {"type": "platt", "fields": {}},
]  # fmt: skip


def fitted_maps():
    """Return fitted calibrators and combiners by name."""
    rng = np.random.default_rng(0)
    label = rng.random(120) < 0.4
    scores = {
        name: np.clip(rng.normal(label, 1) / 8 + 0.5, 0.01, 0.99) for name in "ab"
    }
    tally = trueness.tally(label, scores["a"])
    panel = trueness.panel(label, scores)

    by_name = {
        method: trueness.calibrate(tally, method=method)
        for method in ("platt", "beta", "isotonic", "histogram")
    }
    by_name["at-prevalence"] = trueness.at_prevalence(by_name["platt"], 0.4, 0.1)
    by_name["mean-score"] = trueness.mean_score(panel)
    by_name["best-single"] = trueness.best_single(panel)
    return by_name


FITTED = fitted_maps()


def places(held, before=()):
    """Give the way to every value in the fields of a map, at most two of a list."""
    for key, value in held.items() if isinstance(held, dict) else enumerate(held[:2]):
        yield (*before, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*before, key))


@pytest.mark.parametrize("name", FITTED)
def test_a_forged_map_gets_a_sentence_or_gives_numbers(name):
    whole = json.loads(maps.map_to_json(FITTED[name]))
    several = hasattr(FITTED[name], "names")
    scores = np.full((3, 2), [[0.0], [0.5], [1.0]]) if several else [-3.0, 0.2, 0.5, 7]
    tried = 0
    for way in places(whole["fields"]):
        for wrong in WRONG:
            forged = copy.deepcopy(whole)
            held = forged["fields"]
            for key in way[:-1]:
                held = held[key]
            held[way[-1]] = wrong
            tried += 1
            try:
                with np.errstate(all="ignore"):
                    result = maps.map_from_json(json.dumps(forged))(scores)
            except trueness.InputError:
                continue
            assert np.isfinite(result).all(), (way, wrong)
            if not several:
                assert ((result >= 0) & (result <= 1)).all(), (way, wrong)

    assert tried > 30


def test_maps_in_maps_deeper_than_can_be_read_get_a_sentence():
    whole = json.loads(maps.map_to_json(FITTED["platt"]))
    held = 1
    for _ in range(400):
        held = {"type": "platt", "fields": whole["fields"] | {"slope": held}}

    with pytest.raises(trueness.InputError, match="does not hold a map"):
        maps.map_from_json(json.dumps(whole | {"fields": held["fields"]}))


SAMPLE = trueness.tally(
    [0, 1, 0, 1, 1, 0, 1, 0], [0.1, 0.4, 0.3, 0.8, 0.9, 0.2, 0.25, 0]
)


def with_fields(fitted, **values):
    content = json.loads(maps.map_to_json(fitted))
    for name, value in values.items():
        if isinstance(value, list):
            value = {"array": value, "shape": [len(value)]}
        content["fields"][name] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("method", "fields", "message"),
    [
        ("isotonic", {"score": [0, 1], "probability": [0.9, 0.1]}, "ascending order"),
        ("isotonic", {"score": [0, 1], "probability": [-0.1, 0.1]}, "between 0 and 1"),
        ("venn-abers", {"low_edges": [0.5], "low": [-0.2, 0.3]}, "between 0 and 1"),
        ("venn-abers", {"low_edges": [0.5], "low": [0.9, 0.95]}, "not be above high"),
        ("platt", {"low": 1.0, "high": 0.0}, "low must be below high"),
        ("platt", {"targets": "none"}, "targets must be"),
        ("temperature", {"temperature": -2.0}, "temperature must be above 0"),
        ("temperature", {"low": 0.9, "high": 0.1}, "low must be below high"),
        ("beta", {"low": 0.9, "high": 0.1}, "low must be below high"),
        ("beta", {"a": -1.0}, "a and b must be 0 or more"),
        ("beta", {"low": -5.0}, "low must be above 0"),
        ("binormal", {"score": [1, 0], "hidden": [0, 1]}, "ascending order"),
        ("binormal", {"score": [0, 1], "hidden": [1, 0]}, "ascending order"),
        ("binormal", {"sd": -1.0}, "sd must be above 0"),
        ("binormal", {"prevalence": 1.5}, "prevalence must"),
        ("fermi-dirac", {"score": [1, 0], "cases": [1, 1]}, "ascending order"),
        ("fermi-dirac", {"score": [0, 1], "cases": [1, -210]}, "not negative"),
    ],
)
def test_a_map_that_no_fit_can_give_is_refused(method, fields, message):
    fitted = trueness.calibrate(SAMPLE, method=method)

    with pytest.raises(trueness.InputError, match=message):
        maps.map_from_json(with_fields(fitted, **fields))


COLUMN = {"array": [0.0, 1.0], "shape": [2]}
REVERSED = {"array": [1.0, 0.0], "shape": [2]}
NEGATIVE = {"array": [1.0, -210.0], "shape": [2]}


@pytest.fixture
def panel():
    scores = {"A": [0.1, 0.4, 0.3, 0.8, 0.9, 0.2], "B": [1, 3, 2, 1, 3, 1]}
    return trueness.panel([0, 1, 0, 1, 1, 0], scores)


@pytest.mark.filterwarnings(
    "ignore::trueness._core.checks.errors.DoubtfulAssumptionWarning"
)
@pytest.mark.parametrize("method", ["wisdom-of-crowds", "fidel", "fidel-correlated"])
@pytest.mark.parametrize(
    ("scores", "cases", "message"),
    [
        (COLUMN, NEGATIVE, "not negative"),
        (REVERSED, COLUMN, "ascending order"),
        (COLUMN, {"array": [1.0], "shape": [1]}, "one number for each score"),
    ],
)
def test_a_reference_that_no_panel_can_give_is_refused(
    panel, method, scores, cases, message
):
    fitted = trueness.COMBINERS[method](panel)
    columns = {"scores": {"list": [scores, COLUMN]}, "cases": {"list": [cases, COLUMN]}}

    with pytest.raises(trueness.InputError, match=message):
        maps.map_from_json(with_fields(fitted, **columns))


@pytest.mark.filterwarnings(
    "ignore::trueness._core.checks.errors.DoubtfulAssumptionWarning"
)
@pytest.mark.parametrize(
    ("method", "fields", "message"),
    [
        ("best-single", {"best": "C"}, "best must be"),
        ("best-single", {"auc": 1.5}, "auc must"),
        ("fidel", {"auc": [2.0, 0.5]}, "between 0 and 1"),
        ("fidel", {"source": "hearsay"}, "source must be"),
        ("fidel", {"prevalence": -0.1}, "prevalence must"),
        ("mean-score", {"names": {"list": ["A", "A"]}}, "of its own"),
    ],
)
def test_a_combiner_that_no_fit_can_give_is_refused(panel, method, fields, message):
    fitted = trueness.COMBINERS[method](panel)

    with pytest.raises(trueness.InputError, match=message):
        maps.map_from_json(with_fields(fitted, **fields))
