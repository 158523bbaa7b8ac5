"""Nothing breaks a public function: hostile calls, found by introspection.

``make fuzz`` asks 20,000 times; here a small part runs with the other tests.
"""

import json
import os
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import trueness
from trueness.calibration.maps import Map, map_from_json, map_to_json

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import _calls  # noqa: E402 - beside this file; tests are no package

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("TRUENESS_FUZZ", "0"))
END = time.monotonic() + 60 * float(os.environ.get("TRUENESS_FUZZ_MINUTES", "1e6"))
COUNT = max(1, EXAMPLES // max(len(_calls.functions()), 1))
THOROUGH = settings(
    max_examples=COUNT,
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
CORPUS = json.loads((HERE / "corpus.json").read_text())


def test_functions_are_found():
    found = _calls.functions()
    assert {"auc", "calibrate", "agreement", "latent_class", "pareto"} <= set(found)
    assert "likelihood" in _calls.choices("agreement", "method")


# without TRUENESS_FUZZ one example a function: enough to see that each can be asked
@pytest.mark.parametrize("name", list(_calls.functions()))
def test_only_our_own_words(name):
    @THOROUGH
    @given(_calls.questions(name))
    def asked(question):
        if time.monotonic() > END:
            return
        _, given, arguments = question
        values = [*given, *arguments.values()]
        before = pickle.dumps(_counts(values))
        answer = _calls.ask(name, arguments, given)
        assert pickle.dumps(_counts(values)) == before, "an input was changed"
        if answer is None:
            return
        _calls.judge(answer)
        _calls.shows_itself(answer)
        if isinstance(answer, Map):
            assert map_from_json(map_to_json(answer)) == answer

    asked()


def _counts(values):
    """Give the numbers of every tally and panel among the arguments."""
    out = []
    for value in values:
        if isinstance(value, (trueness.Tally, trueness.Panel)):
            table = value.rows if isinstance(value, trueness.Panel) else value.score
            out.append([np.array(x) for x in (table, value.neg, value.pos)])
    return out


@pytest.mark.parametrize("case", CORPUS, ids=lambda c: c["call"][:60])
def test_what_once_broke(case):
    """Every case that was reported, kept as the words that were typed."""
    with _calls.only_doubts():
        try:
            answer = eval(case["call"], _calls.SCOPE)  # noqa: S307 - our own corpus
        except _calls.OURS:
            return
    _calls.judge(answer)
    _calls.shows_itself(answer)
