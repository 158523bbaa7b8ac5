"""Combinations: the paper's tables, brute force, words."""

import json
from operator import eq, ge, le
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import trueness
from no_gold import table
from trueness.nogold.formulas import formula, votes

TABLES = {
    "flu": "swineflu_recovered",
    "chloroplast": "chloroplast_reconstructed",
    "snp": "snp1000_reconstructed",
}


@pytest.fixture(scope="module")
def posts():
    return {
        key: trueness.latent_class(table(name), dependence="none", rng=11, draws=3000)
        for key, name in TABLES.items()
    }


@pytest.fixture(scope="module")
def chloroplast(posts):
    return posts["chloroplast"]


def pattern_probabilities(rate):
    """Return the probability of every pattern in each draw; rates are (draws, K)."""
    says_yes = votes(rate.shape[1])[None]
    return np.prod(np.where(says_yes, rate[:, None], 1 - rate[:, None]), axis=2)


def all_sets(patterns):
    """Return every set of so many patterns as a row of 0 and 1."""
    return (np.arange(2**patterns)[:, None] >> np.arange(patterns) & 1).astype(float)


REFERENCE = Path(__file__).parents[1] / "reference"
PRINTED = json.loads((REFERENCE / "keith2012_tables.json").read_text())
# mean and standard deviation over 400 runs of the paper's Gibbs sampler, in NumPy
CHAINS = json.loads((REFERENCE / "keith2012_chains.json").read_text())
STATISTICS = [
    f"{rate}{statistic}"
    for rate in ("sensitivity", "specificity")
    for statistic in ("", "_median", "_sd")
]
CELLS = sum(len(row) for rows in PRINTED.values() for row in rows.values())
PAPER_TABLES = [("chloroplast", "2"), ("flu", "3"), ("snp", "4 upper")]
# 95 % for all cells together (Bonferroni)
STANDARD_ERRORS = NormalDist().inv_cdf(1 - 0.05 / (2 * CELLS))


@pytest.mark.parametrize(("key", "table_key"), PAPER_TABLES)
def test_tables_of_the_paper(posts, key, table_key):
    rates = trueness.nogold.all_combinations(posts[key])
    for number, printed in PRINTED[table_key].items():
        for name, text in zip(STATISTICS, printed, strict=True):
            ours = getattr(rates, name)[int(number) - 1]
            rounding = 0.5001 * 10.0 ** -len(text.partition(".")[2])
            chance = STANDARD_ERRORS * CHAINS[table_key][f"{number} {name}"][1]
            assert abs(ours - float(text)) <= rounding + chance, (number, name)


@pytest.mark.parametrize(("key", "table_key"), PAPER_TABLES)
def test_combinations_are_those_of_an_independent_sampler(posts, key, table_key):
    """The mean of 400 runs leaves a twentieth of the error of one run."""
    rates = trueness.nogold.all_combinations(posts[key])
    for number in PRINTED[table_key]:
        for rate in ("sensitivity", "specificity"):
            mean, of_one_run = CHAINS[table_key][f"{number} {rate}"]
            place = int(number) - 1
            own = getattr(rates, f"{rate}_sd")[place] / np.sqrt(3000)
            error = np.hypot(of_one_run / np.sqrt(400), own)
            ours = getattr(rates, rate)[place]
            assert abs(ours - mean) <= STANDARD_ERRORS * error + 1e-6, (number, rate)


@pytest.mark.parametrize("key", TABLES)
@pytest.mark.parametrize("criterion", ["product", "squares", "sum"])
def test_the_union_is_best_by_three_criteria_of_the_paper(posts, key, criterion):
    best = trueness.best_combination(posts[key], criterion=criterion)

    assert best.number == 2 ** (2 ** len(best.names) - 1)


def test_the_minimum_as_in_the_paper(posts):
    of_chloroplast = trueness.best_combination(posts["chloroplast"], criterion="min")
    of_snp = trueness.best_combination(posts["snp"], criterion="min")

    assert of_chloroplast.number == 96
    assert of_snp.number == 128
    assert of_snp.probability_best > 0.999


def test_most_often_is_not_best_on_average():
    """The paper's anomaly: by the minimum C1 wins most often, the union on average."""
    post = trueness.latent_class(
        table("swineflu_recovered"), dependence="none", rng=2, draws=40_000
    )

    on_average = trueness.best_combination(post, criterion="min")
    most_often = trueness.best_combination(post, criterion="min", method="most often")

    assert on_average.formula == "NPA_C1 or NS_C2"
    assert most_often.formula == on_average.most_often == "NPA_C1"
    assert most_often.score.value < on_average.score.value
    assert most_often.probability_best > on_average.probability_best


def undominated(points):
    """Keep the points that no other beats in both coordinates, by the first one."""
    kept = [
        point
        for point in points
        if not ((points >= point).all(axis=1) & (points > point).any(axis=1)).any()
    ]
    return np.array(sorted(kept, key=lambda point: point[0]))


def test_front_against_enumeration(chloroplast):
    in_positives = pattern_probabilities(chloroplast.flat["sensitivity"]).mean(axis=0)
    in_negatives = pattern_probabilities(1 - chloroplast.flat["specificity"]).mean(
        axis=0
    )
    members = all_sets(8)
    rates = np.column_stack([members @ in_positives, 1 - members @ in_negatives])

    front = trueness.nogold.combination_front(chloroplast)

    points = np.column_stack([front.sensitivity, front.specificity])
    assert points == pytest.approx(undominated(rates))
    for i, sensitivity in enumerate(front.sensitivity):
        assert in_positives[front.patterns(i)].sum() == pytest.approx(sensitivity)


def test_rates_of_the_front_are_proportions(posts):
    for post in posts.values():
        front = trueness.nogold.combination_front(post)

        rates = np.concatenate([front.sensitivity, front.specificity])
        assert rates.min() >= 0
        assert rates.max() <= 1


def says_yes(message, names, row):
    """Evaluate a formula with Python's own logic."""
    values = dict(zip(names, (bool(vote) for vote in row), strict=True))
    if message in ("never", "always"):
        return message == "always"
    for start, holds in (("at least", ge), ("at most", le), ("exactly", eq)):
        if message.startswith(start):
            number, listed = message[len(start) :].split(" of ")
            yes = sum(values[name] for name in listed.split(", "))
            return holds(yes, int(number))
    return eval(message, {}, values)  # noqa: S307 - our own words


def patterns_of(words, names):
    """Return the patterns for which a formula says yes."""
    rows = votes(len(names))
    return [j for j, row in enumerate(rows) if says_yes(words, names, row)]


def patterns_of_code(code, number):
    return [j for j in range(number) if int(code) >> j & 1]


@pytest.mark.parametrize("k", [2, 3])
def test_every_formula_means_its_cells(k):
    names = ["A", "B", "C"][:k]
    for code in range(2 ** (2**k)):
        chosen = patterns_of_code(code, 2**k)

        words = formula(chosen, names)

        assert patterns_of(words, names) == chosen, words


def test_formulas_are_as_short_as_sympy_makes_them(rng):
    sympy = pytest.importorskip("sympy")
    names = ["A", "B", "C", "D"]
    for code in rng.integers(1, 2**16 - 1, 25):
        chosen = patterns_of_code(code, 16)
        rows = votes(4)[chosen].tolist()

        words = formula(chosen, names)

        assert patterns_of(words, names) == chosen
        if not words.startswith(("at ", "exactly")):
            shortest = str(sympy.SOPform(sympy.symbols(names), rows))
            longer = sum(words.count(name) - shortest.count(name) for name in names)
            assert longer <= 2


def reaches_points(words, names, rows):
    """Evaluate "at least t points (A 2, B 1)"."""
    least, listed = words.removeprefix("at least ").split(" points (")
    weights = dict(pair.rsplit(" ", 1) for pair in listed.rstrip(")").split(", "))
    return rows @ [int(weights.get(name, 0)) for name in names] >= int(least)


@pytest.mark.parametrize("weight", [[1, 1, 2, 2, 3, 3], [3, 2, 2, *[1] * 11]])
def test_long_formulas_become_points(weight):
    names = [f"T{i}" for i in range(len(weight))]
    rows = votes(len(weight))
    inside = rows @ weight >= 6

    words = formula(np.flatnonzero(inside).tolist(), names)

    assert (reaches_points(words, names, rows) == inside).all()


@pytest.mark.parametrize(("k", "least"), [(3, 2), (12, 7)])
def test_a_number_of_votes_is_said_as_such(k, least):
    names = [f"T{i}" for i in range(k)]
    inside = votes(k).sum(axis=1) >= least

    words = formula(np.flatnonzero(inside).tolist(), names)

    assert words == f"at least {least} of {', '.join(names)}"


def test_beyond_twelve_classifiers_patterns_are_counted():
    chosen = np.arange(0, 2**13, 3)

    words = formula(chosen.tolist(), [f"T{i}" for i in range(13)])

    assert words == f"{chosen.size:,} of 8,192 patterns"


@pytest.mark.parametrize("k", [5, 8, 12])
def test_long_formulas_mean_their_cells(rng, k):
    names = [f"T{i}" for i in range(k)]
    inside = rng.random(2**k) < 0.3

    words = formula(np.flatnonzero(inside).tolist(), names)

    code = compile(words, "words", "eval")
    evaluated = [
        bool(eval(code, {}, dict(zip(names, row, strict=True))))  # noqa: S307
        for row in votes(k).astype(bool).tolist()
    ]
    assert (np.array(evaluated) == inside).all()


def test_the_map_flags_what_the_formula_says(chloroplast):
    panel = table(TABLES["chloroplast"])
    any_vote = panel.rows.any(axis=1)

    best = trueness.best_combination(chloroplast)

    flags = panel.combine(best.map)
    assert flags.unknown[flags.score == 1][0] == panel.unknown[any_vote].sum()
    assert best.bits == "01111111"
    assert best.patterns[0] == (1, 1, 1)


def test_the_map_of_a_combination_is_saved_and_loaded(chloroplast, tmp_path):
    best = trueness.best_combination(chloroplast)

    best.map.save(tmp_path / "map.json")

    assert trueness.load_map(tmp_path / "map.json") == best.map


def test_the_map_of_a_combination_needs_every_vote(chloroplast):
    best = trueness.best_combination(chloroplast)

    with pytest.raises(trueness.InputError, match="needs every vote"):
        best.map([[1, np.nan, 0]])


def test_cost_rule_is_the_post_test_threshold(chloroplast):
    prevalence = chloroplast.draws["prevalence"][:, None]
    in_positives = pattern_probabilities(chloroplast.draws["sensitivity"])
    in_negatives = pattern_probabilities(1 - chloroplast.draws["specificity"])
    positive = (prevalence * in_positives).mean(axis=0)
    negative = ((1 - prevalence) * in_negatives).mean(axis=0)
    post_test_probability = positive / (positive + negative)
    expected = votes(3)[post_test_probability > 0.2].tolist()

    rule = trueness.cost_rule(chloroplast, fp=1, fn=4)

    assert rule.threshold == 0.2
    assert [list(row) for row in rule.combination.patterns] == expected


def test_cost_rule_is_cheaper_than_its_alternatives(chloroplast):
    rule = trueness.cost_rule(chloroplast, fp=1, fn=4)

    costs = {name: cost.value for name, cost in rule.alternatives.items()}
    assert set(costs) == {*chloroplast.names, "flag none", "flag all"}
    assert rule.cost.value <= min(costs.values())
    assert costs["flag none"] == pytest.approx(4 * chloroplast.prevalence.value)


def test_a_metric_and_its_text_are_the_same_criterion(chloroplast):
    rule = trueness.cost_rule(chloroplast, fp=1, fn=4)

    def code(criterion):
        return trueness.best_combination(chloroplast, criterion=criterion).code

    assert code(trueness.cost(fp=1, fn=4)) == rule.combination.code
    assert code("cost(fp=1, fn=4)") == rule.combination.code
    assert code("youden") == code("sum")


def test_f1_is_a_criterion(chloroplast):
    best = trueness.best_combination(chloroplast, criterion="f1")

    assert best.formula.startswith("at least 2")


@pytest.fixture(scope="module")
def six_tests():
    """Return the posterior of six tests on 400 cases."""
    rng = np.random.default_rng(12)
    is_positive = rng.random(400) < 0.3
    alpha = rng.uniform(0.7, 0.9, 6)
    beta = rng.uniform(0.05, 0.3, 6)
    rate = np.where(is_positive[:, None], alpha, beta)
    verdicts = (rng.random((400, 6)) < rate).astype(float)
    panel = trueness.panel(None, {f"T{i}": verdicts[:, i] for i in range(6)})
    return trueness.latent_class(panel, dependence="none", rng=0, draws=1000)


def test_of_many_classifiers_nearly_every_draw_has_its_own_winner(six_tests):
    best = trueness.best_combination(six_tests)

    assert best.winners > 50
    assert (1,) * 6 in best.patterns


@pytest.mark.parametrize(
    "criterion",
    ["product", "sum", "min", "accuracy", "cost(fp=1, fn=3)", "f1", "jaccard"],
)
def test_the_best_of_many_classifiers_is_exact(six_tests, criterion):
    best = trueness.best_combination(six_tests, criterion=criterion)

    assert best.exact
    assert "exact" in repr(best)


def test_how_much_could_be_missing_is_said(six_tests):
    squares = trueness.best_combination(six_tests, criterion="squares")
    mixed = trueness.best_combination(six_tests, criterion="f1 + mcc")

    assert squares.gap < 0.01
    assert 0 < mixed.gap < 0.1
    assert "could be missing" in repr(mixed)


def test_the_front_of_many_classifiers_holds_the_best_product(six_tests):
    best = trueness.best_combination(six_tests)

    front = trueness.nogold.combination_front(six_tests)

    product = front.sensitivity * front.specificity
    assert product.max() == pytest.approx(best.score.value, abs=0.01)
    assert isinstance(front.formula(int(product.argmax())), str)


def test_a_table_of_many_classifiers_is_refused(six_tests):
    with pytest.raises(trueness.InputError, match="up to 4 classifiers"):
        trueness.nogold.all_combinations(six_tests)


def test_a_table_is_sorted_and_shown(chloroplast):
    combinations = trueness.nogold.all_combinations(chloroplast)

    best_three = combinations.sorted("min", most=3)

    assert best_three.number[0] == 96
    assert "combinations" in repr(best_three)
    assert best_three.formula[0] == "AA_C1 or NCC_C3"
    assert best_three.to_frame()["formula"].iloc[0] == "AA_C1 or NCC_C3"


def test_a_combination_has_the_code_of_the_paper(posts):
    best = trueness.best_combination(posts["flu"])

    assert best.to_dict()["code"] == 7


def test_a_table_is_in_the_order_of_the_paper(posts):
    formulas = trueness.nogold.all_combinations(posts["flu"]).formula

    assert formulas[[1, 6, 10, 11, 0]].tolist() == [
        "NPA_C1 and NS_C2",
        "exactly 1 of NPA_C1, NS_C2",
        "not NPA_C1",
        "not NPA_C1 or NS_C2",
        "never",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "produkt"}, "criterion must be one of .* mean 'product'"),
        ({"criterion": "acuracy"}, "Did you mean 'accuracy'"),
        ({"criterion": 3}, "must be text such as"),
        ({"criterion": "cost(fp=-1, fn=5)"}, "costs of zero or more"),
        ({"prevalence": 3}, "Type prevalence=0.03"),
        ({"population": "north"}, "one population without a name"),
        ({"criterion": "flagged"}, "needs a direction"),
        ({"method": "best"}, "method must be one of"),
    ],
)
def test_bad_choices(posts, options, message):
    with pytest.raises(trueness.InputError, match=message):
        trueness.best_combination(posts["flu"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "produt"}, "Did you mean 'product'"),
        ({"by": "formula"}, "by must be one of"),
        ({"most": 0}, "most must be a whole number"),
    ],
)
def test_bad_choices_of_a_table(posts, options, message):
    combinations = trueness.nogold.all_combinations(posts["flu"])

    with pytest.raises(trueness.InputError, match=message):
        combinations.sorted(**options)


def test_negative_costs_are_refused(posts):
    with pytest.raises(trueness.InputError, match="costs of zero or"):
        trueness.cost_rule(posts["flu"], fp=-1, fn=2)


def test_a_panel_is_no_posterior():
    with pytest.raises(trueness.InputError, match="needs a posterior"):
        trueness.best_combination(table("swineflu_recovered"))


def test_a_metric_needs_to_know_the_population():
    post = trueness.latent_class(table("huiwalter1980_tuberculin"), rng=0, draws=500)

    with pytest.raises(trueness.InputError, match="Which population is meant"):
        trueness.best_combination(post, criterion="accuracy")
    assert trueness.best_combination(post).formula
    of_second = trueness.best_combination(post, criterion="accuracy", population="pop2")
    assert of_second.patterns
