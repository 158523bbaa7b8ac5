"""Figures of Keith, Davey and Boyd (2012): densities, combinations, the model."""

import numpy as np
import pytest

import trueness
from trueness import InputError, plots

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")

SWINE_FLU = trueness.Panel(
    ["NPA", "NS"], [[0, 0], [0, 1], [1, 0], [1, 1]], unknown=[30, 2, 6, 10]
)


@pytest.fixture(scope="module")
def post():
    return trueness.latent_class(SWINE_FLU, dependence="none", draws=400, rng=0)


@pytest.fixture
def ax():
    return matplotlib.figure.Figure().subplots()


def test_true_values_are_marked_in_their_panels(post):
    truth = {"prevalence": 0.3, "sensitivity[NS]": 0.99}

    panels = plots.posterior_densities.figure_data(post, truth).data.parts

    marked = {part.what: part.rules for part in panels if part.rules}
    assert marked == {
        "prevalence": (("truth", 0.3),),
        "sensitivity[NS]": (("truth", 0.99),),
    }
    (panel,) = (part for part in panels if part.what == "sensitivity[NS]")
    assert panel.x.low < 0.99 <= panel.x.high


def test_a_true_value_of_no_parameter_is_an_error(post):
    with pytest.raises(InputError, match=r"found 'sensitivity\[XY\]'") as caught:
        plots.posterior_densities.figure_data(post, {"sensitivity[XY]": 0.5})
    assert caught.value.option == "truth"
    assert "prevalence" in caught.value.choices


def test_a_standard_deviation_is_not_cut_at_one():
    posterior = trueness.latent_class(SWINE_FLU, rng=0, draws=100)
    families = posterior.model.prior_draws(5, np.random.default_rng(0))
    draws = np.hstack([posterior.flat[family] for family in families])
    names = posterior.diagnostics.parameter[: draws.shape[1]]

    panels = plots.posterior_densities.figure_data(posterior).data.parts

    end_of_axis = {part.what: part.x.high for part in panels}
    for name, draws_of_parameter in zip(names, draws.T, strict=True):
        if draws_of_parameter.max() > 1:
            assert end_of_axis[str(name)] > 1
    assert end_of_axis["prevalence"] <= 1


def test_densities_of_combinations_are_those_of_their_rates(post):
    panels = plots.combination_densities.figure_data(post, n_best=3).data.parts
    assert len(panels) == 3
    best = trueness.best_combination(post)
    assert panels[0].what == best.formula
    sensitivity, specificity = panels[0].bands
    for band, estimate in (
        (sensitivity, best.sensitivity),
        (specificity, best.specificity),
    ):
        area = np.trapezoid(band["high"], band["value"])
        mean = np.trapezoid(band["high"] * band["value"], band["value"]) / area
        assert area == pytest.approx(1, abs=0.02)
        assert mean == pytest.approx(estimate.value, abs=0.02)


def test_twelve_combinations_have_twelve_marks(post, ax):
    plots.combination_plane(post, n_best=12, ax=ax)
    marks = {(line.get_color(), line.get_marker()) for line in ax.lines}
    assert len(marks) == len(ax.lines) == 12


def test_the_model_has_the_dependencies_of_figure_3(post):
    diagram = plots.latent_model.figure_data(post).data
    letters = [node.inside for node in diagram.nodes]
    arrows = {(letters[a], letters[b]) for a, b in diagram.edges}
    # phi to T, T to C, alpha to C, beta to C
    assert arrows == {
        ("\u03d5", "T"),
        ("T", "C"),
        ("\u03b1", "C"),
        ("\u03b2", "C"),
    }
    assert [node.inside for node in diagram.nodes if node.shape == "square"] == ["C"]


def test_the_title_of_dominance_names_both(rng):
    y = rng.random(200) < 0.5
    score = rng.normal(size=200) + 2 * y
    panel = trueness.panel(y, {"good": score, "poor": score + 3 * rng.normal(size=200)})
    answer = trueness.dominates(panel, "good", "poor", replicates=100)

    figure = plots.dominance.figure_data(answer)

    assert answer.names == ("good", "poor")
    assert "good" in figure.title
    assert "poor" in figure.title
    assert "first" not in figure.title
    assert figure.data.lines[0].name == "good - poor"
