"""Does the same thing have the same name in every public function?"""

import importlib
import inspect

import pytest

import trueness
from trueness.counts.design import ARGUMENTS

# by annotation: how a parameter of this kind is called
CALLED = {"Seed": "rng", "LatentPosterior": "posterior"}
# other words for the number of resamples or simulated samples, and for the seed
UNWANTED = {"repeats", "n_boot", "resamples", "simulations", "seed", "random_state"}
ROOMS = (
    trueness,
    *(importlib.import_module(f"trueness.{r}") for r in ("plots", "reports")),
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


ASKED = [name for name, f in PUBLIC.items() if hasattr(f, "takes")]


@pytest.mark.parametrize("name", ASKED)
def test_an_analysis_is_asked_about_data_and_how_they_came_is_no_word_of_its_own(name):
    first, *others = inspect.signature(inspect.unwrap(PUBLIC[name])).parameters

    assert first == "data"

    # without labels the share of positives is what a model is told
    models = {"agreement", "fidel", "fermi_dirac", "plan_labels"}
    told = name.split(".")[-1] in models
    known = {"prevalence"} if told else set()

    assert not {"weight", "cluster", *ARGUMENTS} & set(others) - known
