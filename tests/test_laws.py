"""Laws that every analysis obeys, because every answer is a function of counts.

A new analysis joins by one line in ``ANALYSES``: a name and a function from a tally to
something with numbers in it. Where an analysis cannot use weights or clusters it
refuses them (``counts/design.py``), and the laws of weights and clusters are kept by
the refusal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness._core.checks.errors import UnsupportedDesign
from trueness._core.records import json_value
from trueness.counts.cases import add_as_clusters, keep_clusters
from trueness.counts.values import panel_of_rows

# labels are given by lot here, and now and then look as if they were not
pytestmark = [
    pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning"),
    pytest.mark.filterwarnings("ignore::trueness.OptimisticWarning"),
]


@dataclass(frozen=True)
class Analysis:
    call: Callable[[trueness.Tally], Any]
    rank_only: bool = True  # only the order of scores matters
    uses_unknown: bool = False
    # "limits" that are drawn, or "values" too: of other cases, other draws
    drawn: str = ""

    def __call__(self, t):
        """Give the answer as numbers and texts; a refusal is its own answer."""
        try:
            return json_value(self.call(t))
        except UnsupportedDesign:
            return "refused"
        except trueness.NotEnoughCases:
            return "impossible"


def probable(analysis, **options):
    """Call an analysis of probabilities."""
    return lambda t: analysis(t.map(lambda s: 1 / (1 + np.exp(-s))), **options)


def calibrated(method):
    """Give the probabilities of the labelled rows by a calibrator."""

    def call(t):
        if method in ("beta", "temperature"):
            t = t.map(lambda s: 1 / (1 + np.exp(-s)))
        return trueness.calibrate(t, method=method)(t.labelled().score)

    return call


def leaf_levels(t):
    """Each score as a leaf: the levels of that tree."""
    if t.weighted:
        raise UnsupportedDesign("Leaves hold whole cases.")
    tree = trueness.Leaves(t.score, t.neg, t.pos, t.unknown).report().tree
    return [tree.confidence, tree.utility]


def columns(curve):
    """Give a curve without its thresholds: these follow the scores."""
    return {k: v for k, v in curve.to_dict().items() if k != "threshold"}


def with_another(t):
    """See the same cases by a second score: the first, in steps."""
    up = np.arange(len(t))[::-1]  # the rows of a panel ascend
    rows = np.column_stack([t.score, np.floor(t.score)])[up]
    made = panel_of_rows(("a", "b"), rows, *(c[up] for c in t.counts))
    return keep_clusters(t, made, lambda: up)


def mean_of_positives(t):
    return float(t.score @ t.pos / t.n_pos)


SOME = (0.1, 0.3, 0.6, 0.9)  # of the points that a curve has
# a function of one's own, without redrawn cases
OWN = {"value_range": (-np.inf, np.inf), "method": "jackknife"}
RANKED = {
    "binormal": True, "fermi-dirac": True, "histogram": True, "isotonic": True,
    "venn-abers": True, "beta": False, "platt": False, "temperature": False,
}  # fmt: skip
of_scores = partial(Analysis, rank_only=False)
ANALYSES = {
    "across_sites": Analysis(
        lambda t: trueness.across_sites(
            dict.fromkeys("ABCDE", t), "auc", prediction="higgins"
        )
    ),
    "at_threshold": of_scores(lambda t: trueness.at_threshold(t, 0.25)),
    "auc": Analysis(trueness.auc),
    "auc at random": Analysis(
        lambda t: trueness.auc(t, unlabelled="missing at random"), uses_unknown=True
    ),
    "auc bootstrap": Analysis(
        lambda t: trueness.auc(t, method="bootstrap", rng=1, replicates=100),
        drawn="limits",
    ),
    **{
        f"auc {method}": Analysis(partial(trueness.auc, method=method))
        for method in ("delong", "fermi-dirac", "hanley-mcneil")
    },
    "average_precision": Analysis(trueness.average_precision),
    "average_precision rare": Analysis(
        lambda t: trueness.average_precision(t, prevalence=0.01)
    ),
    "best_threshold": of_scores(
        lambda t: trueness.best_threshold(t, "f1", "accuracy >= 0.1")
    ),
    "best_threshold ranks": Analysis(
        lambda t: (
            trueness.best_threshold(t, "g_mean + recall", prevalence=0.2).confusion
        )
    ),
    **{
        name: of_scores(probable(getattr(trueness, name)))
        for name in ("brier", "log_loss", "calibration_line", "calibration_error",
                     "calibration_index", "calibration_verdict")
    },
    **{
        f"calibrate {method}": Analysis(calibrated(method), ranked)
        for method, ranked in RANKED.items()
    },
    # whole cases are dealt into folds; of weighted ones a single calibrator is fitted
    "calibrate auto": of_scores(calibrated("auto"), drawn="values"),
    **{
        f"calibration_test {method}": of_scores(
            probable(trueness.calibration_test, method=method)
        )
        for method in ("spiegelhalter", "cox", "hosmer-lemeshow")
    },
    "compare": of_scores(
        lambda t: trueness.compare(with_another(t), mean_of_positives, **OWN)
    ),
    "compare_groups": Analysis(
        lambda t: trueness.compare_groups({"a": t, "b": t}, trueness.auc)
    ),
    "compare_auc, same cases": of_scores(
        lambda t: trueness.compare_auc(with_another(t))
    ),
    "compare_auc, other cases": Analysis(lambda t: trueness.compare_auc(t, t)),
    **{
        f"compare_metric {m}": of_scores(
            lambda t, m=m: trueness.compare_metric(with_another(t), m, thresholds=0.25)
        )
        for m in ("f1", "recall")
    },
    "cost_curve": Analysis(lambda t: trueness.cost_curve(t, at=SOME).cost),
    "decile_table": of_scores(partial(trueness.decile_table, groups=4)),
    "decision_curve": of_scores(probable(trueness.decision_curve, threshold=SOME)),
    "estimate": of_scores(lambda t: trueness.estimate(t, mean_of_positives, **OWN)),
    "fermi_dirac": Analysis(trueness.fermi_dirac),
    "fermi_dirac.auc_se": Analysis(lambda t: trueness.fermi_dirac(t).auc_se),
    **{
        f"{name}, rates": Analysis(
            lambda t, name=name: columns(getattr(trueness, name)(t))
        )
        for name in ("det", "gain_curve", "lift_curve", "roc")
    },
    "gini": Analysis(trueness.gini),
    "hull": Analysis(lambda t: columns(trueness.ranking.hull(trueness.roc(t)))),
    # its bins follow the number of cases, so weights of k are not k copies
    "kl_divergence": Analysis(trueness.ranking.kl_divergence, drawn="values"),
    "jeffreys_test": of_scores(probable(trueness.calibration.jeffreys_test)),
    "ks": of_scores(trueness.ks),
    "leaf levels": Analysis(leaf_levels),
    "leakage": Analysis(trueness.ranking.leakage),
    "pareto": Analysis(lambda t: trueness.pareto(t, ["f1", "specificity"]).values),
    "partial_auc": Analysis(
        lambda t: trueness.partial_auc(t, fpr=(0, 0.3), tpr=(0.2, 1))
    ),
    "precision_recall": of_scores(trueness.precision_recall),
    "reliability": of_scores(
        probable(trueness.reliability, replicates=20), drawn="limits"
    ),
    "roc": of_scores(trueness.roc),
    "roc_band": Analysis(
        lambda t: trueness.roc_band(t, points=5, replicates=100), drawn="limits"
    ),
    "simplify": Analysis(
        lambda t: columns(trueness.ranking.simplify(trueness.roc(t), points=4))
    ),
    "sweep": Analysis(trueness.sweep),
    "thresholds": of_scores(trueness.thresholds),
    "validate_threshold": of_scores(
        lambda t: trueness.validate_threshold(t, "youden", rng=1, replicates=10),
        drawn="values",
    ),
}  # fmt: skip


@st.composite
def cases(draw, unknown=True):
    """Labels 0, 1 and (perhaps) missing, with scores from a few values."""
    values = [0, 1, None] if unknown else [0, 1]
    n = draw(st.integers(4, 30))
    label = draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    label = [0, 1, 0, 1, *label]
    level = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    score = draw(st.lists(level, min_size=len(label), max_size=len(label)))
    return label, score


def same(a, b, within=1e-10):
    """Equal texts, and numbers to the last digits that the order of a sum changes."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], within) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(same(x, y, within) for x, y in pairs)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=within, atol=min(within, 1e-9)))
    return a == b


# what is said of limits and of chance, not of values; and sums over the cases
ABOUT_LIMITS = {
    "low", "high", "se", "method", "notes", "statistic", "df", "p_value", "p_adjusted",
    "rms", "debiased", "expected_by_chance", "warning", "verdict", "error", "bound",
    "worst", "cases_needed",
}  # fmt: skip
SUMS = {"n", "n_pos", "n_neg", "tp", "fp", "fn", "tn", "flagged", "notes"}


def without(answer, gone):
    """Give an answer without some of its fields."""
    if isinstance(answer, list):
        return [without(v, gone) for v in answer]
    if not isinstance(answer, dict):
        return answer
    limits = gone is ABOUT_LIMITS
    return {
        k: without(v, gone)
        for k, v in answer.items()
        if k not in gone and not (limits and k.endswith(("_low", "_high")))
    }


def limits_of(answer, inside=False):
    """Give all limits of an answer."""
    if isinstance(answer, dict):
        ends = ("low", "high")
        return [x for k, v in answer.items() for x in limits_of(v, k.endswith(ends))]
    if isinstance(answer, list):
        return [x for v in answer for x in limits_of(v, inside)]
    return [answer] if inside and isinstance(answer, (int, float)) else []


@pytest.fixture(scope="module", params=sorted(ANALYSES))
def analysis(request):
    return ANALYSES[request.param]


@given(cases(), st.randoms())
def test_order_of_cases_is_irrelevant(analysis, data, random):
    pairs = list(zip(*data, strict=True))
    random.shuffle(pairs)
    shuffled = trueness.tally(*map(list, zip(*pairs, strict=True)))
    assert same(analysis(trueness.tally(*data)), analysis(shuffled))


@given(cases(), st.integers(0, 34))
def test_parts_add_up_to_the_whole(analysis, data, at):
    label, score = data
    parts = (
        trueness.tally(label[:at], score[:at]),
        trueness.tally(label[at:], score[at:]),
    )
    assert parts[0] + parts[1] == trueness.tally(label, score)
    assert same(analysis(parts[1] + parts[0]), analysis(trueness.tally(*data)))


@given(cases(unknown=False), st.lists(st.sampled_from([-1.0, 0.3, 9.0]), max_size=5))
def test_unknowns_never_change_a_labelled_answer(analysis, data, more):
    if analysis.uses_unknown:
        return
    t = trueness.tally(*data)
    extra = trueness.tally(None, np.array(more, dtype=float))
    assert same(
        without(analysis(t + extra), {"notes"}), without(analysis(t), {"notes"})
    )


@pytest.mark.parametrize("name", sorted(k for k, a in ANALYSES.items() if a.rank_only))
@given(data=cases())
def test_increasing_scores_change_nothing(name, data):
    analysis, t = ANALYSES[name], trueness.tally(*data)
    assert same(analysis(t.map(lambda s: np.exp(s) + s)), analysis(t))


# laws of designs, on cases enough for every analysis

N = 240


def many(seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < 0.4).astype(int)
    return y, np.round(rng.normal(size=N) + y, 1)


EQUAL = {
    "clusters of one": {"cluster": np.arange(N)},
    "weights of one": {"weight": np.ones(N)},
    "weights of two": {"weight": np.full(N, 2.0)},
    "both": {"weight": np.ones(N), "cluster": np.arange(N)},
}


def kept(analysis, other, plain, gone):
    """Is the law kept: by the same numbers, or by a refusal?"""
    if other == "refused" or analysis.drawn == "values":
        return True
    for fields in (gone, ABOUT_LIMITS) if analysis.drawn else (gone,):
        other, plain = without(other, fields), without(plain, fields)
    return same(other, plain, 1e-9)


@pytest.mark.parametrize("way", EQUAL)
def test_equal_weights_and_clusters_of_one_are_none(analysis, way):
    y, s = many()
    other = analysis(trueness.tally(y, s, **EQUAL[way]))
    assert kept(analysis, other, analysis(trueness.tally(y, s)), SUMS)


def test_nearly_equal_weights_move_limits_hardly(analysis):
    y, s = many()
    weight = np.where(np.arange(N) == 7, 1 + 1e-6, 1.0)
    other = limits_of(analysis(trueness.tally(y, s, weight=weight)))
    plain = limits_of(analysis(trueness.tally(y, s)))
    assert not other or analysis.drawn or other == pytest.approx(plain, abs=5e-3)


def test_a_case_of_weight_k_is_k_copies_in_every_value(analysis):
    y, s = many()
    k = np.arange(N) % 3 + 1
    copies = analysis(trueness.tally(np.repeat(y, k), np.repeat(s, k)))
    other = analysis(trueness.tally(y, s, weight=k.astype(float)))
    assert kept(analysis, other, copies, ABOUT_LIMITS)


@pytest.mark.parametrize("factor", [1e-7, 123.4, 1e50])
def test_the_unit_of_weight_and_cases_of_weight_zero_are_nothing(analysis, factor):
    y, s = many()
    w = np.random.default_rng(4).exponential(size=N) * (np.arange(N) % 9 > 0)
    other = analysis(trueness.tally(y[w > 0], s[w > 0], weight=factor * w[w > 0]))
    plain = analysis(trueness.tally(y, s, weight=w))
    gone = SUMS | {"notes", "verdict", "units"}
    if "refused" not in (other, plain):
        assert same(without(other, gone), without(plain, gone), 1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_order_and_shards_of_clusters_are_irrelevant(analysis, weighted):
    y, s = many()
    rng = np.random.default_rng(1)
    cluster, w = np.arange(N) // 6, rng.uniform(0.5, 2, N)

    def count(at, names=cluster):
        more = {"weight": w[at]} if weighted else {}
        return trueness.tally(y[at], s[at], cluster=names[at], **more)

    every, order = np.arange(N), rng.permutation(N)
    whole = analysis(count(every))
    # sums of weights differ in their last digits, and limits by central differences
    # (a millionth of a count apart) enlarge that to 1e-10
    assert same(analysis(count(order)), whole, 1e-9)
    assert same(analysis(count(order[:100]) + count(order[100:])), whole, 1e-9)
    # other names come in another order, in which other clusters are drawn
    assert kept(analysis, analysis(count(every, 99 - cluster)), whole, set())
    parts = {c: count(every[cluster == c]).without_clusters() for c in range(N // 6)}
    assert kept(analysis, analysis(add_as_clusters(parts)), whole, set())


@pytest.mark.parametrize(
    "words", [(), ("weight",), ("cluster",), ("weight", "cluster")]
)
def test_exchanged_labels_and_reversed_scores_mirror_the_auc(words):
    y, s = many()
    rng = np.random.default_rng(2)
    said = {"weight": rng.uniform(0.5, 2, N), "cluster": np.arange(N) // 6}
    said = {k: said[k] for k in words}

    def ends(y, s):
        a = trueness.auc(y, s, **said)
        return np.array([a.value, a.low, a.high])

    a = ends(y, s)
    for other in (ends(1 - y, s), ends(y, -s)):
        assert 1 - other[[0, 2, 1]] == pytest.approx(a, abs=1e-12)
    assert ends(1 - y, -s) == pytest.approx(a)
