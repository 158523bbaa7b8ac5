"""Combinations: the paper's tables, brute force, words."""

import itertools
import json
from operator import eq, ge, le
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import trueness
from no_gold import table
from trueness.nogold.formulas import formula, votes


@pytest.fixture(scope="module")
def posts():
    names = ("swineflu_recovered", "chloroplast_reconstructed", "snp1000_reconstructed")
    keys = ("flu", "chloroplast", "snp")
    return {
        k: trueness.latent_class(table(n), dependence="none", rng=11, draws=3000)
        for k, n in zip(keys, names, strict=True)
    }


def patterns(alpha, beta):
    v = votes(len(alpha))
    return (
        np.prod(np.where(v, alpha, 1 - alpha), axis=1),
        np.prod(np.where(v, beta, 1 - beta), axis=1),
    )


def all_sets(m):
    return (np.arange(2**m)[:, None] >> np.arange(m) & 1).astype(float)


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
# 95 % for all cells together (Bonferroni)
STANDARD_ERRORS = NormalDist().inv_cdf(1 - 0.05 / (2 * CELLS))


@pytest.mark.parametrize(("key", "table_key"), [
    ("chloroplast", "2"), ("flu", "3"), ("snp", "4 upper"),
])  # fmt: skip
def test_tables_of_the_paper(posts, key, table_key):
    rates = trueness.nogold.all_combinations(posts[key])
    for number, printed in PRINTED[table_key].items():
        for name, text in zip(STATISTICS, printed, strict=True):
            ours = getattr(rates, name)[int(number) - 1]
            rounding = 0.5001 * 10.0 ** -len(text.partition(".")[2])
            chance = STANDARD_ERRORS * CHAINS[table_key][f"{number} {name}"][1]
            assert abs(ours - float(text)) <= rounding + chance, (number, name)


@pytest.mark.parametrize(("key", "table_key"), [
    ("chloroplast", "2"), ("flu", "3"), ("snp", "4 upper"),
])  # fmt: skip
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


def test_criteria_of_the_paper(posts):
    for key in posts:
        for criterion in ("product", "squares", "sum"):
            best = trueness.best_combination(posts[key], criterion=criterion)
            assert best.number == 2 ** (2 ** len(best.names) - 1), (key, criterion)
    assert trueness.best_combination(posts["chloroplast"], criterion="min").number == 96
    snp = trueness.best_combination(posts["snp"], criterion="min")
    assert snp.number == 128
    assert snp.probability_best > 0.999


def test_most_often_is_not_best_on_average():
    """The paper's anomaly: by the minimum C1 wins most often, the union on average."""
    post = trueness.latent_class(
        table("swineflu_recovered"), dependence="none", rng=2, draws=40_000
    )
    mean = trueness.best_combination(post, criterion="min")
    often = trueness.best_combination(post, criterion="min", method="most often")
    assert mean.formula == "NPA_C1 or NS_C2"
    assert often.formula == mean.most_often == "NPA_C1"
    assert often.score.value < mean.score.value
    assert often.probability_best > mean.probability_best


def test_front_against_enumeration(posts):
    post = posts["chloroplast"]
    rates = post.flat["sensitivity"], 1 - post.flat["specificity"]
    a, b = np.mean([patterns(*r) for r in zip(*rates, strict=True)], axis=0)
    members = all_sets(8)
    points = np.column_stack([members @ a, 1 - members @ b])
    beaten = [
        ((points >= p).all(axis=1) & (points > p).any(axis=1)).any() for p in points
    ]
    expected = points[~np.array(beaten)]
    expected = expected[np.argsort(expected[:, 0])]
    f = trueness.nogold.combination_front(post)
    assert np.column_stack([f.sensitivity, f.specificity]) == pytest.approx(expected)
    for i, sens in enumerate(f.sensitivity):
        assert a[f.patterns(i)].sum() == pytest.approx(sens)


def test_rates_of_the_front_are_proportions(posts):
    for post in posts.values():
        front = trueness.nogold.combination_front(post)

        rates = np.concatenate([front.sensitivity, front.specificity])
        assert rates.min() >= 0
        assert rates.max() <= 1


def truth(words, names, row):
    """Evaluate a formula with Python's own logic."""
    values = dict(zip(names, (bool(v) for v in row), strict=True))
    if words in ("never", "always"):
        return words == "always"
    for start, holds in (("at least", ge), ("at most", le), ("exactly", eq)):
        if words.startswith(start):
            number, these = words[len(start) :].split(" of ")
            return holds(sum(values[n] for n in these.split(", ")), int(number))
    return eval(words, {}, values)  # noqa: S307 - our own words


@pytest.mark.parametrize("k", [2, 3])
def test_every_formula_means_its_cells(k):
    names = ["A", "B", "C"][:k]
    v = votes(k)
    for code in range(2 ** (2**k)):
        chosen = [j for j in range(2**k) if code >> j & 1]
        words = formula(chosen, names)
        assert [j for j in range(2**k) if truth(words, names, v[j])] == chosen, words


def test_formulas_are_as_short_as_sympy_makes_them(rng):
    sympy = pytest.importorskip("sympy")
    names, v = ["A", "B", "C", "D"], votes(4)
    for code in rng.integers(1, 2**16 - 1, 25):
        chosen = [j for j in range(16) if int(code) >> j & 1]
        words = formula(chosen, names)
        if words.startswith(("at ", "exactly")):
            continue
        short = sympy.SOPform(sympy.symbols(names), v[chosen].tolist())
        assert sum(words.count(n) - str(short).count(n) for n in names) <= 2
        assert [j for j in range(16) if truth(words, names, v[j])] == chosen


def points(words, names, rows):
    """Evaluate "at least t points (A 2, B 1)"."""
    least, each = words.removeprefix("at least ").split(" points (")
    weight = dict(w.rsplit(" ", 1) for w in each.rstrip(")").split(", "))
    return rows @ [int(weight.get(n, 0)) for n in names] >= int(least)


def test_long_formulas_become_points():
    for k, weight in ((6, [1, 1, 2, 2, 3, 3]), (14, [3, 2, 2, *[1] * 11])):
        names = [f"T{i}" for i in range(k)]
        rows = votes(k)
        inside = rows @ weight >= 6
        words = formula(np.flatnonzero(inside).tolist(), names)
        assert (points(words, names, rows) == inside).all()
    assert formula([0, 1, 2, 4], ["A", "B", "C"]) == "at least 2 of A, B, C"
    names = [f"T{i}" for i in range(12)]
    most = np.flatnonzero(votes(12).sum(axis=1) >= 7)
    assert formula(most.tolist(), names) == f"at least 7 of {', '.join(names)}"
    few = np.arange(0, 2**13, 3)  # beyond twelve patterns are counted
    words = formula(few.tolist(), [f"T{i}" for i in range(13)])
    assert words == f"{few.size:,} of 8,192 patterns"


@pytest.mark.parametrize("k", [5, 8, 12])
def test_long_formulas_mean_their_cells(rng, k):
    names = [f"T{i}" for i in range(k)]
    inside = rng.random(2**k) < 0.3
    words = formula(np.flatnonzero(inside).tolist(), names)
    code = compile(words, "words", "eval")
    found = [
        bool(eval(code, {}, dict(zip(names, row, strict=True))))  # noqa: S307
        for row in votes(k).astype(bool).tolist()
    ]
    assert (np.array(found) == inside).all()


def test_the_map_flags_what_the_formula_says(posts, tmp_path):
    best = trueness.best_combination(posts["chloroplast"])
    panel = table("chloroplast_reconstructed")
    t = panel.combine(best.map)
    any_vote = panel.rows.any(axis=1)
    assert t.unknown[t.score == 1][0] == panel.unknown[any_vote].sum()
    best.map.save(tmp_path / "map.json")
    assert trueness.load_map(tmp_path / "map.json") == best.map
    with pytest.raises(trueness.InputError, match="needs every vote"):
        best.map([[1, np.nan, 0]])
    assert best.bits == "01111111"
    assert best.patterns[0] == (1, 1, 1)


def test_cost_rule_is_the_post_test_threshold(posts):
    post = posts["chloroplast"]
    rule = trueness.cost_rule(post, fp=1, fn=4)
    assert rule.threshold == 0.2
    d = post.draws
    for row in itertools.product((0, 1), repeat=3):
        x = np.array(row)
        a = np.prod(np.where(x, d["sensitivity"], 1 - d["sensitivity"]), axis=1)
        b = np.prod(np.where(x, 1 - d["specificity"], d["specificity"]), axis=1)
        pos, neg = (d["prevalence"] * a).mean(), ((1 - d["prevalence"]) * b).mean()
        assert (row in rule.combination.patterns) == (pos / (pos + neg) > 0.2)
    assert rule.cost.value <= min(e.value for e in rule.alternatives.values())
    assert set(rule.alternatives) == {*post.names, "flag none", "flag all"}
    phi = post.prevalence.value
    assert rule.alternatives["flag none"].value == pytest.approx(4 * phi)
    code = lambda c: trueness.best_combination(post, criterion=c).code  # noqa: E731
    price = trueness.cost(fp=1, fn=4)
    assert code(price) == code("cost(fp=1, fn=4)") == rule.combination.code
    assert code("youden") == code("sum")
    assert trueness.best_combination(post, criterion="f1").formula[:10] == "at least 2"


def test_many_classifiers(rng):
    truth_ = rng.random(400) < 0.3
    alpha, beta = rng.uniform(0.7, 0.9, 6), rng.uniform(0.05, 0.3, 6)
    rows = (rng.random((400, 6)) < np.where(truth_[:, None], alpha, beta)).astype(float)
    p = trueness.panel(None, {f"T{i}": rows[:, i] for i in range(6)})
    post = trueness.latent_class(p, dependence="none", rng=0, draws=1000)
    best = trueness.best_combination(post)
    assert best.winners > 50  # nearly every draw has its own
    assert best.exact
    assert "exact" in repr(best)
    union = [1] * 6
    assert tuple(union) in best.patterns
    for criterion in ("sum", "min", "accuracy", "cost(fp=1, fn=3)", "f1", "jaccard"):
        assert trueness.best_combination(post, criterion=criterion).exact
    assert trueness.best_combination(post, criterion="squares").gap < 0.01
    mixed = trueness.best_combination(post, criterion="f1 + mcc")
    assert 0 < mixed.gap < 0.1
    assert "could be missing" in repr(mixed)
    f = trueness.nogold.combination_front(post)
    product = f.sensitivity * f.specificity
    assert product.max() == pytest.approx(best.score.value, abs=0.01)
    assert isinstance(f.formula(int(product.argmax())), str)
    with pytest.raises(trueness.InputError, match="up to 4 classifiers"):
        trueness.nogold.all_combinations(post)


def test_table_sorts_and_shows(posts):
    t = trueness.nogold.all_combinations(posts["chloroplast"]).sorted("min", most=3)
    assert t.number[0] == 96
    assert "combinations" in repr(t)
    assert t.formula[0] == t.to_frame()["formula"].iloc[0] == "AA_C1 or NCC_C3"
    d = trueness.best_combination(posts["flu"]).to_dict()
    assert d["code"] == 7
    words = trueness.nogold.all_combinations(posts["flu"]).formula
    assert words[[1, 6, 10, 11, 0]].tolist() == [
        "NPA_C1 and NS_C2", "exactly 1 of NPA_C1, NS_C2", "not NPA_C1",
        "not NPA_C1 or NS_C2", "never",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
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
def test_bad_choices(posts, options, words):
    with pytest.raises(trueness.InputError, match=words):
        trueness.best_combination(posts["flu"], **options)


def test_bad_tables_and_posteriors(posts):
    sort = trueness.nogold.all_combinations(posts["flu"]).sorted
    post = trueness.latent_class(table("huiwalter1980_tuberculin"), rng=0, draws=500)
    best = trueness.best_combination
    for call, words in (
        (lambda: sort("produt"), "Did you mean 'product'"),
        (lambda: sort("formula"), "by must be one of"),
        (lambda: sort(most=0), "most must be a whole number"),
        (lambda: trueness.cost_rule(posts["flu"], fp=-1, fn=2), "costs of zero or"),
        (lambda: best(table("swineflu_recovered")), "needs a posterior"),
        (lambda: best(post, criterion="accuracy"), "Which population is meant"),
    ):
        with pytest.raises(trueness.InputError, match=words):
            call()
    assert best(post).formula
    assert best(post, criterion="accuracy", population="pop2").patterns
