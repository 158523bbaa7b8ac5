"""AUC, partial areas, average precision: by hand, brute force, pROC."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

import trueness
from conftest import tied_cases
from trueness import InputError, NotEnoughCases, Tally
from trueness._core.arrays import blocks
from trueness.ranking import areas

PROC = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())
METHODS = ["bootstrap", "delong", "fermi-dirac", "hanley-mcneil", "newcombe"]
Z = stats.norm.ppf(0.975)
ASK = {
    "auc": trueness.auc,
    "average precision": trueness.average_precision,
    "partial auc": lambda *x, **words: trueness.partial_auc(*x, fpr=(0, 0.3), **words),
}


def sample(n=200, seed=0, digits=1):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return y, np.round(rng.normal(size=n) + y, digits), rng.exponential(size=n) ** 1.5


def wins(y, s):
    return (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])


def three(e):
    return e.low, e.value, e.high


@pytest.mark.parametrize("digits", [1, 12])
def test_weighted_values_are_those_of_scikit_learn(digits):
    y, s, w = sample(400, digits=digits)
    t, words = trueness.tally(y, s, weight=w), {"sample_weight": w}
    close = {"rel": 1e-12, "abs": 1e-12}
    want = sk.roc_auc_score(y, s, **words)
    assert trueness.auc(t).value == pytest.approx(want, **close)
    want = sk.average_precision_score(y, s, **words)
    assert trueness.average_precision(t).value == pytest.approx(want, **close)
    want = sk.roc_auc_score(y, s, max_fpr=0.2, **words)
    found = trueness.partial_auc(t, fpr=(0, 0.2), corrected=True).value
    assert found == pytest.approx(want, **close)


def test_long_columns_are_walked_in_blocks(rng):
    """Several blocks of rows, weighted or not, and a billion cases in a row."""
    y, s = rng.random(50_000) < 0.3, rng.normal(size=50_000)
    s += y
    w, rank, n = rng.exponential(size=y.size), stats.rankdata(s), (y.sum(), (~y).sum())
    won = int(2 * rank[y].sum()) - int(n[0] * (n[0] + 1))
    found = trueness.auc(y, s)
    assert found.value == float(Fraction(won, int(2 * n[0] * n[1])))
    below, above = rank[y] - stats.rankdata(s[y]), rank[~y] - stats.rankdata(s[~y])
    spread = np.var(below / n[1], ddof=1) / n[0] + np.var(above / n[0], ddof=1) / n[1]
    assert found.se == pytest.approx(np.sqrt(spread), rel=1e-12)
    weighed = trueness.auc(y, s, weight=w).value
    assert weighed == pytest.approx(sk.roc_auc_score(y, s, sample_weight=w), rel=1e-12)
    big = Tally([3, 2, 1], pos=[10**9, 5, 0], neg=[1, 0, 10**9])
    won = 10**9 * (2 * 10**9 + 1) + 5 * 2 * 10**9
    exact = Fraction(won, 2 * (10**9 + 5) * (10**9 + 1))
    assert trueness.auc(big).value == float(exact)


@pytest.mark.parametrize("name", ["ndka", "s100b", "wfns"])
def test_proc_agrees(name):
    t = trueness.tally(PROC["poor"], PROC[name])
    a = trueness.auc(t, method="delong")
    assert three(a) == pytest.approx(PROC[f"auc_{name}"], abs=1e-12)
    part = {
        "fpr": {"fpr": (0, 0.1)},
        "fpr_mid": {"fpr": (0.2, 0.5)},
        "tpr": {"tpr": (0.9, 1)},
        "fpr_corrected": {"fpr": (0, 0.1), "corrected": True},
        "tpr_corrected": {"tpr": (0.9, 1), "corrected": True},
    }
    for key, words in part.items():
        theirs = PROC[f"pauc_{key}_{name}"][0]
        ours = trueness.partial_auc(t, **words).value
        # pROC gives none below the diagonal
        assert ours == pytest.approx(theirs) if theirs is not None else ours < 0.5


def test_partial_areas_against_the_curve(rng):
    t = trueness.tally(*tied_cases(rng, 70))
    whole = trueness.auc(t).value
    for part in ({"fpr": (0, 1)}, {"tpr": (0, 1)}, {"fpr": (0, 1), "tpr": (0, 1)}):
        for corrected in (False, True):
            found = trueness.partial_auc(t, **part, corrected=corrected)
            assert found.value == pytest.approx(whole)
    ranges = (0, 0.2), (0.2, 0.7), (0.7, 1)
    parts = sum(trueness.partial_auc(t, fpr=r).value for r in ranges)
    assert parts == pytest.approx(whole)
    curve, f = trueness.roc(t), np.linspace(0.1, 0.6, 400_001)
    height = np.clip(np.interp(f, curve.fpr, curve.tpr), 0.4, 0.9) - 0.4
    found = trueness.partial_auc(t, fpr=(0.1, 0.6), tpr=(0.4, 0.9)).value
    assert found == pytest.approx(np.trapezoid(height, f), abs=1e-5)
    chance, ideal = Tally([1], [5], [5]), Tally([2, 1], [0, 5], [5, 0])
    for part in ({"fpr": (0, 0.1)}, {"tpr": (0.8, 1)}):
        for x, want in ((chance, 0.5), (ideal, 1)):
            found = trueness.partial_auc(x, **part, corrected=True).value
            assert found == pytest.approx(want)


@pytest.mark.parametrize(
    "part",
    [None, {}, {"fpr": (0, 0.3)}, {"tpr": (0.6, 1)},
     {"fpr": (0.1, 0.6), "tpr": (0.3, 0.9), "corrected": True}],
)  # fmt: skip
def test_errors_follow_from_derivatives(part):
    """By a little more and less weight of each case, which is then left out."""
    y, s, w = sample(60, digits=12)

    def ask(w):
        if not part:
            f = trueness.auc if part is None else trueness.average_precision
            return f(y, s, weight=w)
        return trueness.partial_auc(y, s, weight=w, **part)

    step = 1e-6 * np.eye(60)
    u = np.array([(ask(w + e).value - ask(w - e).value) / 2e-6 for e in step])
    variance = 0.0
    for own in [y >= 0] if part == {} else [y == 0, y == 1]:
        total = w[own].sum()
        n = total**2 / (w[own] @ w[own])
        variance += (n - 1) / n * np.sum((w[own] * u[own] / (1 - w[own] / total)) ** 2)
    assert ask(w).se == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_older_papers_by_hand(rng):
    t = Tally([3, 2, 1], pos=[4, 3, 1], neg=[1, 3, 5])
    a = trueness.auc(t, method="hanley-mcneil")
    area = Fraction(4 * (16 + 1) + 3 * (10 + 3) + 1 * 5, 2 * 8 * 9)
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    square = area * (1 - area) + 7 * (q1 - area**2) + 8 * (q2 - area**2)
    assert a.value == float(area)
    assert a.se == pytest.approx(float(square / 72) ** 0.5)
    t = trueness.tally(*tied_cases(rng, 200))
    a = trueness.auc(t, method="fermi-dirac")
    assert a.se == pytest.approx(trueness.fermi_dirac(t).auc_se)
    assert a.high - a.low == pytest.approx(2 * Z * a.se)


CORNERS = {
    "one pair, won": Tally([2, 1], pos=[1, 0], neg=[0, 1]),
    "one pair, lost": Tally([2, 1], pos=[0, 1], neg=[1, 0]),
    "one pair, tied": Tally([1], pos=[1], neg=[1]),
    "perfect": Tally([2, 1], pos=[30, 0], neg=[0, 70]),
    "perfectly wrong": Tally([2, 1], pos=[0, 30], neg=[70, 0]),
    "all tied": Tally([1], pos=[30], neg=[70]),
    "one positive": Tally([3, 2, 1], pos=[0, 1, 0], neg=[3, 0, 40]),
    "one positive on top": Tally([3, 2, 1], pos=[1, 0, 0], neg=[0, 3, 40]),
    "one negative": Tally([3, 2, 1], pos=[5, 0, 2], neg=[0, 1, 0]),
    "huge": Tally([3, 2, 1], pos=[10**9, 5, 0], neg=[1, 0, 10**9]),
    "unknowns": Tally([3, 2], pos=[2, 0], neg=[0, 2], unknown=[5, 5]),
    "weighted": trueness.tally([1, 0, 0], [3, 2, 1], weight=[2, 1, 0.5]),
    "a cluster": Tally([2, 1], pos=[3, 1], neg=[1, 3], cluster=[1, 1]),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_no_interval_is_empty_or_leaves_its_range(corner):
    t, words = CORNERS[corner], {"rng": 1, "replicates": 200}
    plain = not t.weighted and t.clusters is None
    methods = METHODS if plain else ["newcombe", "delong"]
    found = [trueness.auc(t, method=m, **words) for m in methods]
    for ask in (ASK["average precision"], ASK["partial auc"]):
        found.append(ask(t, **words))
        if min(t.n_pos, t.n_neg) >= 2:
            found.append(ask(t, method="bootstrap", **words))
    for a in found:
        assert 0 <= a.low <= a.value <= a.high <= 1
        assert a.low < a.high or a.method == "bootstrap"


def test_notes():
    a = trueness.auc(CORNERS["perfect"])
    assert "no variation" in a.notes[0]
    assert trueness.auc(CORNERS["perfect"], method="delong").low == a.low
    t = Tally([2, 1], pos=[10, 90], neg=[90, 10])
    assert trueness.auc(t).high < 0.5
    assert "ranks the wrong way round" in trueness.auc(t).notes[0]
    assert trueness.auc(t.map(lambda s: -s)).notes == ()


@pytest.mark.parametrize("prevalence", [0.02, 0.1])
def test_few_negatives_at_a_lower_prevalence_leave_average_precision_open(
    rng, prevalence
):
    """50 + 50 cases at 2 %: one negative decides the precision of the top."""
    y = np.repeat([1, 0], [50, 50])
    s = rng.normal(size=100) + 1.2 * y
    design = {"sampling": "case-control", "prevalence": prevalence}

    estimate = trueness.average_precision(y, s, **design)

    assert (estimate.low, estimate.high) == (0, 1)
    assert any("No interval is available" in note for note in estimate.notes)
    by_engine = trueness.estimate(
        trueness.tally(y, s, **design), trueness.average_precision
    )
    assert (by_engine.low, by_engine.high) == (0, 1)


@pytest.mark.parametrize(
    ("positives", "negatives", "prevalence"),
    [(50, 50, 0.45), (500, 500, 0.1), (50, 500, 0.05), (20, 980, None)],
)
def test_enough_negatives_give_average_precision_an_interval(
    rng, positives, negatives, prevalence
):
    y = np.repeat([1, 0], [positives, negatives])
    s = rng.normal(size=y.size) + 1.2 * y

    estimate = trueness.average_precision(y, s, prevalence=prevalence)

    assert 0 < estimate.low < estimate.high < 1
    assert estimate.notes == ()


def test_average_precision_of_another_prevalence_holds(rng):
    """500 + 500 cases at 10 %; the truth by quadrature of two normal densities."""
    separation = stats.norm.ppf(0.8) * np.sqrt(2)
    threshold = np.linspace(separation + 8, -8, 200_001)
    recall = stats.norm.sf(threshold - separation)
    flagged = 0.1 * recall + 0.9 * stats.norm.sf(threshold)
    precision = 0.1 * recall / np.maximum(flagged, 1e-300)
    truth = np.trapezoid(precision, recall)

    y = np.repeat([1, 0], [500, 500])
    held = []
    for _ in range(200):
        s = rng.normal(size=1000) + separation * y
        estimate = trueness.average_precision(y, s, prevalence=0.1)
        held.append(estimate.low <= truth <= estimate.high)

    assert np.mean(held) >= 0.88


def test_a_case_control_sample_does_not_know_the_prevalence():
    t = Tally([3, 2, 1], pos=[6, 3, 1], neg=[1, 3, 6])
    design, words = {"sampling": "case-control"}, {"prevalence": 0.1}
    with pytest.raises(InputError, match="case-control sample fixed"):
        trueness.average_precision(t, **design)
    one = trueness.average_precision(t, **design, **words)
    p = [0.1 * r / (0.1 * r + 0.9 * f) for r, f in ((0.6, 0.1), (0.9, 0.4), (1, 1))]
    assert one.value == pytest.approx(0.6 * p[0] + 0.3 * p[1] + 0.1 * p[2])
    assert three(one) == pytest.approx(three(trueness.average_precision(t, **words)))
    area = trueness.auc(t, **design, **words).value
    assert area == pytest.approx(trueness.auc(t).value)


def test_verification_bias_is_taken_off(rng):
    truth, means, hits = 0.76, [], []
    for _ in range(60):
        y = (rng.random(600) < 0.3).astype(int)
        s = rng.normal(size=600) + np.sqrt(2) * stats.norm.ppf(truth) * y
        seen = rng.random(600) < 1 / (1 + np.exp(-1.5 * s))
        label = np.where(seen, y, np.nan)
        found = trueness.auc(label, s, unlabelled="missing at random")
        means.append(found.value)
        hits.append(found.low <= truth <= found.high)
    assert abs(np.mean(means) - truth) < 0.015
    assert np.mean(hits) >= 0.88
    assert "cannot show" in found.notes[0]


@pytest.mark.parametrize("ask", [trueness.auc, trueness.average_precision])
def test_cases_left_out_are_mentioned_where_they_differ(ask, rng):
    s = rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-s))).astype(float)
    chosen = trueness.tally(np.where(s > rng.normal(size=400), y, np.nan), s)
    with pytest.warns(
        trueness.DoubtfulAssumptionWarning, match="scores differ"
    ) as seen:
        found = ask(chosen)
    assert seen[0].filename == __file__
    assert "set unlabelled to 'missing at random'" in found.notes[0]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"method": "delongs"}, r"method must be one of .*Did you mean"),
        ({"level": 95}, r"level must lie in \(0, 1\)"),
        ({"method": "bootstrap", "replicates": 3}, "replicates must be a whole number"),
        ({"weight": [2, 1], "method": "hanley-mcneil"}, "does not take weights"),
        ({"part": {}}, "needs a part of the curve"),
        ({"part": {"fpr": (0.5, 0.1)}}, "fpr must rise"),
        ({"part": {"fpr": 0.1}}, "fpr must be two numbers"),
        ({"part": {"tpr": (0, 90)}}, r"tpr must lie in \[0, 1\]"),
        ({"part": {"fpr": (0.0, 5e-324)}}, "at least 1e-09 wide"),
        ({"part": {"fpr": (0.9, 1), "tpr": (0.1, 0.2), "corrected": True}},
         "above the diagonal"),
    ],
)  # fmt: skip
def test_errors(ask, words):
    area = trueness.partial_auc if "part" in ask else trueness.auc
    with pytest.raises(InputError, match=words):
        area([1, 0], [2, 1], **ask.get("part", ask))
    with pytest.raises(NotEnoughCases, match="0 positives among 6 labelled"):
        trueness.auc(Tally([2, 1], neg=[1, 5]))


def test_average_precision_of_many_blocks_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    label = rng.random(150_000) < 0.2
    score = np.round(rng.normal(size=label.size) + label, 5)

    estimate = trueness.average_precision(label, score)

    expected = sk.average_precision_score(label, score)
    assert estimate.value == pytest.approx(expected, rel=1e-14)


def test_influence_on_average_precision_does_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(4)
    label = rng.random(9000) < 0.2
    tally = trueness.tally(label, rng.normal(size=label.size) + label)
    whole = areas.average_precision_measure(tally)

    monkeypatch.setattr(areas, "BLOCK", 100)
    monkeypatch.setattr(areas, "map_blocks", walk_in_blocks_of_100)
    in_blocks = areas.average_precision_measure(tally)

    assert in_blocks.value == pytest.approx(whole.value, rel=1e-14)
    for column in ("by_negative", "by_positive"):
        np.testing.assert_allclose(
            getattr(in_blocks.influence, column),
            getattr(whole.influence, column),
            rtol=1e-12,
            atol=1e-18,
        )


def walk_in_blocks_of_100(compute, size):
    return [compute(block) for block in blocks(size, 100)]
