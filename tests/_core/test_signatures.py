"""Does the same thing have the same name in every public function?"""

import importlib
import inspect

import pytest

import trueness

# by annotation: how a parameter of this kind is called
CALLED = {"Tally": "t", "Panel": "panel", "Seed": "rng", "LatentPosterior": "post"}
# other words for the number of resamples or simulated samples, and for the seed
UNWANTED = {"repeats", "n_boot", "resamples", "simulations", "seed", "random_state"}
ROOMS = (
    trueness,
    *(importlib.import_module(f"trueness.{r}") for r in ("plots", "report")),
)
PUBLIC = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in ROOMS
    for name in room.__all__
    if inspect.isfunction(getattr(room, name))
}


@pytest.mark.parametrize("name", PUBLIC)
def test_words_of_a_signature(name):
    for p in inspect.signature(PUBLIC[name]).parameters.values():
        kind = str(p.annotation)
        assert p.name == CALLED.get(kind, p.name)
        assert p.name not in UNWANTED
        if p.name == "rng":
            assert p.default == 0
        if p.name == "replicates":
            assert p.kind is p.KEYWORD_ONLY
            assert isinstance(p.default, int)


def test_old_words_are_still_understood():
    t = trueness.Tally([2, 1], neg=[1, 3], pos=[3, 1])
    assert trueness.sweep(tally=t) == trueness.sweep(t)
    assert (trueness.thresholds(tally=t) == trueness.thresholds(t)).all()
    asked = {"n": 10, "n_pos": 4, "auc": 0.8}
    old = trueness.rank_frequencies(**asked, repeats=5)
    assert (old == trueness.rank_frequencies(**asked, replicates=5)).all()
    panel = trueness.Panel(["a", "b"], [[2, 1], [1, 2]], pos=[9, 1], neg=[2, 8])
    old = trueness.best_decision(p=panel, replicates=5)
    assert old == trueness.best_decision(panel, replicates=5)
