"""A saved map is checked inside: whatever a field holds, there is a sentence."""

import copy
import json

import numpy as np
import pytest

import trueness
from trueness.calibration.maps import map_from_json, map_to_json

WRONG = [
    None, "x", -1, 0, 1e308, True, [], {}, 10**400,
    {"number": "nan"}, {"number": "inf"}, {"list": [None]}, {"list": ["a", "a"]},
    {"mapping": {"a": 1}}, {"array": [], "shape": [0]},
    {"array": [3, 1, 2], "shape": [3]}, {"array": [-5.0, 9.0], "shape": [2]},
    {"array": [{"number": "nan"}], "shape": [1]}, {"array": [1], "shape": [10**12]},
    {"type": "platt", "fields": {}},
]  # fmt: skip


def fitted():
    rng = np.random.default_rng(0)
    y = rng.random(120) < 0.4
    a, b = (np.clip(rng.normal(y, 1) / 8 + 0.5, 0.01, 0.99) for _ in range(2))
    t, p = trueness.tally(y, a), trueness.panel(y, {"a": a, "b": b})
    made = {k: trueness.calibrate(t, method=k) for k in ("platt", "beta", "isotonic")}
    made["histogram"] = trueness.calibrate(t, method="histogram")
    made["at-prevalence"] = trueness.at_prevalence(made["platt"], 0.4, 0.1)
    made["mean-score"] = trueness.mean_score(p)
    made["best-single"] = trueness.best_single(p)
    return made


MADE = fitted()


def places(held, before=()):
    """Give the way to every value in the fields of a map, at most two of a list."""
    for key, value in held.items() if isinstance(held, dict) else enumerate(held[:2]):
        yield (*before, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*before, key))


@pytest.mark.parametrize("name", MADE)
def test_a_forged_map_gets_a_sentence_or_gives_numbers(name):
    whole = json.loads(map_to_json(MADE[name]))
    several = hasattr(MADE[name], "names")
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
                    found = map_from_json(json.dumps(forged))(scores)
            except trueness.InputError:
                continue
            assert np.isfinite(found).all(), (way, wrong)
            if not several:
                assert ((found >= 0) & (found <= 1)).all(), (way, wrong)
    assert tried > 30


def test_maps_in_maps_deeper_than_can_be_read_get_a_sentence():
    whole = json.loads(map_to_json(MADE["platt"]))
    held = 1
    for _ in range(400):
        held = {"type": "platt", "fields": whole["fields"] | {"slope": held}}
    with pytest.raises(trueness.InputError, match="does not hold a map"):
        map_from_json(json.dumps(whole | {"fields": held["fields"]}))
