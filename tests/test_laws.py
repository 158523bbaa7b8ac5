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

# labels are random here, and a few of the samples look as if they were not
pytestmark = [
    pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning"),
    pytest.mark.filterwarnings("ignore::trueness.OptimisticWarning"),
]

REFUSED = "refused"
IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class Analysis:
    """An analysis of a tally, and what the laws must know of it."""

    call: Callable[[trueness.Tally], Any]
    # whether only the order of the scores matters
    rank_only: bool = True
    uses_unknown: bool = False
    # what other random draws change: nothing, the "interval", or the "values" too
    random_part: str = ""

    def __call__(self, tally):
        """Return the answer as numbers and texts; a refusal is an answer of its own."""
        try:
            return json_value(self.call(tally))
        except UnsupportedDesign:
            return REFUSED
        except trueness.NotEnoughCases:
            return IMPOSSIBLE


# analyses that need more than one call


def with_probabilities(tally):
    """Return the tally with logistic probabilities in place of its scores."""
    return tally.map(lambda score: 1 / (1 + np.exp(-score)))


def of_probabilities(analysis, **options):
    """Return the analysis of a tally with probabilities in place of its scores."""
    return lambda tally: analysis(with_probabilities(tally), **options)


def of_two_scores(analysis, **options):
    """Return the analysis of a panel: the scores, and the same rounded down."""
    return lambda tally: analysis(panel_with_rounded_scores(tally), **options)


def rates_of(curve):
    """Return the analysis that makes a curve, without the thresholds of the curve."""

    def rates(tally):
        answer = curve(tally).to_dict()
        # they follow the scores, and so they change where only the order is kept
        del answer["threshold"]
        return answer

    return rates


def calibrated_probabilities(method):
    """Return the analysis that calibrates the scores of the labelled rows."""

    def calibrate(tally):
        if method in ("beta", "temperature"):
            tally = with_probabilities(tally)
        calibration_map = trueness.calibrate(tally, method=method)
        return calibration_map(tally.labelled().score)

    return calibrate


def levels_of_leaves(tally):
    """Return the levels of the tree that has a leaf for each score."""
    if tally.weighted:
        raise UnsupportedDesign("Leaves hold whole cases.")

    leaves = trueness.Leaves(tally.score, tally.neg, tally.pos, tally.unknown)
    tree = leaves.report().tree
    return [tree.confidence, tree.utility]


def panel_with_rounded_scores(tally):
    """Return a panel of the same cases: their scores, and the same rounded down."""
    # the rows of a panel ascend, those of a tally descend
    ascending = np.arange(len(tally))[::-1]
    scores = np.column_stack([tally.score, np.floor(tally.score)])
    counts = [column[ascending] for column in tally.counts]

    panel = panel_of_rows(("a", "b"), scores[ascending], *counts)
    return keep_clusters(tally, panel, lambda: ascending)


def mean_of_positives(tally):
    """Return the mean score of the positives."""
    return float(tally.score @ tally.pos / tally.n_pos)


CURVE_POINTS = (0.1, 0.3, 0.6, 0.9)
# of a statistic without a measure; the jackknife draws no random numbers
JACKKNIFE = {"value_range": (-np.inf, np.inf), "method": "jackknife"}
ANALYSES_OF_PROBABILITIES = (
    "brier",
    "log_loss",
    "calibration_line",
    "calibration_error",
    "calibration_index",
    "calibration_verdict",
)
# whether a calibrator looks at nothing but the order of the scores
CALIBRATOR_IS_RANK_ONLY = {
    "binormal": True,
    "fermi-dirac": True,
    "histogram": True,
    "isotonic": True,
    "venn-abers": True,
    "beta": False,
    "platt": False,
    "temperature": False,
}
of_scores = partial(Analysis, rank_only=False)

ANALYSES = {
    "across_sites": Analysis(
        lambda tally: trueness.across_sites(
            dict.fromkeys("ABCDE", tally), "auc", prediction="higgins"
        )
    ),
    "at_threshold": of_scores(lambda tally: trueness.at_threshold(tally, 0.25)),
    "auc": Analysis(trueness.auc),
    "auc at random": Analysis(
        lambda tally: trueness.auc(tally, unlabelled="missing at random"),
        uses_unknown=True,
    ),
    "auc bootstrap": Analysis(
        partial(trueness.auc, method="bootstrap", rng=1, replicates=100),
        random_part="interval",
    ),
    **{
        f"auc {method}": Analysis(partial(trueness.auc, method=method))
        for method in ("delong", "fermi-dirac", "hanley-mcneil")
    },
    "average_precision": Analysis(trueness.average_precision),
    "average_precision rare": Analysis(
        lambda tally: trueness.average_precision(tally, prevalence=0.01)
    ),
    "best_threshold": of_scores(
        lambda tally: trueness.best_threshold(tally, "f1", "accuracy >= 0.1")
    ),
    "best_threshold ranks": Analysis(
        lambda tally: (
            trueness.best_threshold(tally, "g_mean + recall", prevalence=0.2).confusion
        )
    ),
    **{
        name: of_scores(of_probabilities(getattr(trueness, name)))
        for name in ANALYSES_OF_PROBABILITIES
    },
    **{
        f"calibrate {method}": Analysis(calibrated_probabilities(method), rank_only)
        for method, rank_only in CALIBRATOR_IS_RANK_ONLY.items()
    },
    # whole cases are dealt into folds; of weighted ones a single calibrator is fitted
    "calibrate auto": of_scores(calibrated_probabilities("auto"), random_part="values"),
    **{
        f"calibration_test {method}": of_scores(
            of_probabilities(trueness.calibration_test, method=method)
        )
        for method in ("spiegelhalter", "cox", "hosmer-lemeshow")
    },
    "compare": of_scores(
        of_two_scores(trueness.compare, statistic=mean_of_positives, **JACKKNIFE)
    ),
    "compare_groups": Analysis(
        lambda tally: trueness.compare_groups({"a": tally, "b": tally}, trueness.auc)
    ),
    "compare_auc, same cases": of_scores(of_two_scores(trueness.compare_auc)),
    "compare_auc, other cases": Analysis(
        lambda tally: trueness.compare_auc(tally, tally)
    ),
    **{
        f"compare_metric {metric}": of_scores(
            of_two_scores(trueness.compare_metric, metric=metric, thresholds=0.25)
        )
        for metric in ("f1", "recall")
    },
    "cost_curve": Analysis(
        lambda tally: trueness.cost_curve(tally, at=CURVE_POINTS).cost
    ),
    "decile_table": of_scores(partial(trueness.decile_table, groups=4)),
    "decision_curve": of_scores(
        of_probabilities(trueness.decision_curve, threshold=CURVE_POINTS)
    ),
    "estimate": of_scores(
        partial(trueness.estimate, statistic=mean_of_positives, **JACKKNIFE)
    ),
    "fermi_dirac": Analysis(trueness.fermi_dirac),
    "fermi_dirac.auc_se": Analysis(lambda tally: trueness.fermi_dirac(tally).auc_se),
    **{
        f"{name}, rates": Analysis(rates_of(getattr(trueness, name)))
        for name in ("det", "gain_curve", "lift_curve", "roc")
    },
    "gini": Analysis(trueness.gini),
    "hull": Analysis(rates_of(lambda t: trueness.ranking.hull(trueness.roc(t)))),
    # its bins follow the number of cases, so weights of k are not k copies
    "kl_divergence": Analysis(trueness.ranking.kl_divergence, random_part="values"),
    "jeffreys_test": of_scores(of_probabilities(trueness.calibration.jeffreys_test)),
    "ks": of_scores(trueness.ks),
    "leaf levels": Analysis(levels_of_leaves),
    "leakage": Analysis(trueness.ranking.leakage),
    "pareto": Analysis(
        lambda tally: trueness.pareto(tally, ["f1", "specificity"]).values
    ),
    "partial_auc": Analysis(
        lambda tally: trueness.partial_auc(tally, fpr=(0, 0.3), tpr=(0.2, 1))
    ),
    "precision_recall": of_scores(trueness.precision_recall),
    "reliability": of_scores(
        of_probabilities(trueness.reliability, replicates=20), random_part="interval"
    ),
    "roc": of_scores(trueness.roc),
    "roc_band": Analysis(
        partial(trueness.roc_band, points=5, replicates=100), random_part="interval"
    ),
    "simplify": Analysis(
        rates_of(lambda t: trueness.ranking.simplify(trueness.roc(t), points=4))
    ),
    "sweep": Analysis(trueness.sweep),
    "thresholds": of_scores(trueness.thresholds),
    "validate_threshold": of_scores(
        lambda tally: trueness.validate_threshold(
            tally, "youden", rng=1, replicates=10
        ),
        random_part="values",
    ),
}

# comparing two answers

# fields on uncertainty and chance, not on values
FIELDS_ON_UNCERTAINTY = {
    *("low", "high", "se", "method", "notes", "statistic", "df", "bound", "error"),
    *("p_value", "p_adjusted", "expected_by_chance", "rms", "debiased"),
    *("warning", "verdict", "worst", "cases_needed"),
}
# fields that are sums over the cases; the notes name some of them
SUMS_OVER_CASES = {
    *("n", "n_pos", "n_neg", "tp", "fp", "fn", "tn", "flagged", "notes"),
}


def is_interval_end(field):
    """Return whether a field such as ``low`` or ``tpr_high`` is an end of intervals."""
    return field in ("low", "high") or field.endswith(("_low", "_high"))


def without_fields(answer, is_dropped):
    """Return an answer without the fields, at any depth, that a condition names."""
    if isinstance(answer, list):
        return [without_fields(part, is_dropped) for part in answer]
    if isinstance(answer, dict):
        return {
            field: without_fields(value, is_dropped)
            for field, value in answer.items()
            if not is_dropped(field)
        }
    return answer


def without(answer, fields):
    """Return an answer without some of its fields."""
    return without_fields(answer, lambda field: field in fields)


def without_uncertainty(answer):
    """Return an answer without intervals, tests and what follows from them."""
    return without_fields(
        answer,
        lambda field: field in FIELDS_ON_UNCERTAINTY or is_interval_end(field),
    )


def interval_ends(answer, inside_end=False):
    """Return the ends of all intervals of an answer, as one list."""
    if isinstance(answer, dict):
        return [
            end
            for field, value in answer.items()
            for end in interval_ends(value, field.endswith(("low", "high")))
        ]
    if isinstance(answer, list):
        return [end for part in answer for end in interval_ends(part, inside_end)]

    is_number = isinstance(answer, (int, float))
    return [answer] if inside_end and is_number else []


def same(first, second, tolerance=1e-10):
    """Return whether answers are equal, but for the last digits of their numbers.

    The order in which a sum is added up changes its last digits.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same(first[field], second[field], tolerance) for field in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(
            same(*pair, tolerance) for pair in zip(first, second, strict=True)
        )
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        absolute = min(tolerance, 1e-9)
        return bool(np.isclose(first, second, rtol=tolerance, atol=absolute))
    return first == second


def agree(analysis, answer, expected):
    """Return whether two answers are the same, as far as random draws allow.

    An analysis that refuses a design keeps every law of it.
    """
    if answer == REFUSED or analysis.random_part == "values":
        return True

    if analysis.random_part == "interval":
        answer = without_uncertainty(answer)
        expected = without_uncertainty(expected)
    return same(answer, expected, tolerance=1e-9)


@pytest.fixture(scope="module", params=sorted(ANALYSES))
def analysis(request):
    return ANALYSES[request.param]


# laws of counts, on few cases of any kind


@st.composite
def few_cases(draw, with_unknown=True):
    """Draw labels 0, 1 and (perhaps) missing, with scores from a few values."""
    possible_labels = [0, 1, None] if with_unknown else [0, 1]
    n = draw(st.integers(4, 30))
    labels = draw(st.lists(st.sampled_from(possible_labels), min_size=n, max_size=n))
    # two cases of each class, so that most analyses have an answer
    labels = [0, 1, 0, 1, *labels]

    score = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    scores = draw(st.lists(score, min_size=len(labels), max_size=len(labels)))
    return labels, scores


@given(few_cases(), st.randoms())
def test_order_of_cases_is_irrelevant(analysis, cases, random):
    labels, scores = cases
    order = list(range(len(labels)))
    random.shuffle(order)

    shuffled = trueness.tally(
        [labels[case] for case in order], [scores[case] for case in order]
    )

    assert same(analysis(trueness.tally(labels, scores)), analysis(shuffled))


@given(few_cases(), st.integers(0, 34))
def test_parts_add_up_to_the_whole(analysis, cases, split):
    labels, scores = cases
    whole = trueness.tally(labels, scores)

    first = trueness.tally(labels[:split], scores[:split])
    second = trueness.tally(labels[split:], scores[split:])

    assert first + second == whole
    assert same(analysis(whole), analysis(second + first))


@given(
    few_cases(with_unknown=False),
    st.lists(st.sampled_from([-1.0, 0.3, 9.0]), max_size=5),
)
def test_unknowns_never_change_a_labelled_answer(analysis, cases, scores_of_unknowns):
    if analysis.uses_unknown:
        return
    labelled = trueness.tally(*cases)
    unlabelled = trueness.tally(None, np.array(scores_of_unknowns, dtype=float))

    # the notes may say how many cases have no label
    with_unknowns = without(analysis(labelled + unlabelled), {"notes"})

    assert same(with_unknowns, without(analysis(labelled), {"notes"}))


@pytest.mark.parametrize(
    "name", sorted(name for name, a in ANALYSES.items() if a.rank_only)
)
@given(cases=few_cases())
def test_increasing_scores_change_nothing(name, cases):
    analysis = ANALYSES[name]
    tally = trueness.tally(*cases)

    transformed = tally.map(lambda score: np.exp(score) + score)

    assert same(analysis(transformed), analysis(tally))


# laws of designs, on cases enough for every analysis

N_CASES = 240
TRIVIAL_DESIGNS = {
    "clusters of one": {"cluster": np.arange(N_CASES)},
    "weights of one": {"weight": np.ones(N_CASES)},
    "weights of two": {"weight": np.full(N_CASES, 2.0)},
    "both": {"weight": np.ones(N_CASES), "cluster": np.arange(N_CASES)},
}


def random_cases(seed=0):
    """Return labels and scores of random cases, with an AUC of about 0.76."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(N_CASES) < 0.4).astype(int)
    return labels, np.round(rng.normal(size=N_CASES) + labels, 1)


@pytest.mark.parametrize("design", TRIVIAL_DESIGNS)
def test_equal_weights_and_clusters_of_one_are_none(analysis, design):
    labels, scores = random_cases()
    plain = analysis(trueness.tally(labels, scores))

    designed = analysis(trueness.tally(labels, scores, **TRIVIAL_DESIGNS[design]))

    assert agree(
        analysis, without(designed, SUMS_OVER_CASES), without(plain, SUMS_OVER_CASES)
    )


def test_nearly_equal_weights_move_intervals_hardly(analysis):
    labels, scores = random_cases()
    weight = np.where(np.arange(N_CASES) == 7, 1 + 1e-6, 1.0)

    weighted = analysis(trueness.tally(labels, scores, weight=weight))

    plain = analysis(trueness.tally(labels, scores))
    if weighted == REFUSED or analysis.random_part:
        return
    assert interval_ends(weighted) == pytest.approx(interval_ends(plain), abs=5e-3)


def test_a_case_of_weight_k_is_k_copies_in_every_value(analysis):
    labels, scores = random_cases()
    copies = np.arange(N_CASES) % 3 + 1

    repeated = analysis(
        trueness.tally(np.repeat(labels, copies), np.repeat(scores, copies))
    )
    weighted = analysis(trueness.tally(labels, scores, weight=copies.astype(float)))

    # copies are more cases: only the values are equal
    assert agree(analysis, without_uncertainty(weighted), without_uncertainty(repeated))


@pytest.mark.parametrize("factor", [1e-7, 123.4, 1e50])
def test_the_unit_of_weight_and_cases_of_weight_zero_are_nothing(analysis, factor):
    labels, scores = random_cases()
    weight = np.random.default_rng(4).exponential(size=N_CASES)
    counts_at_all = np.arange(N_CASES) % 9 > 0
    plain = analysis(trueness.tally(labels, scores, weight=weight * counts_at_all))

    scaled = analysis(
        trueness.tally(
            labels[counts_at_all],
            scores[counts_at_all],
            weight=factor * weight[counts_at_all],
        )
    )

    if REFUSED in (scaled, plain):
        return
    fields = SUMS_OVER_CASES | {"verdict", "units"}
    assert same(without(scaled, fields), without(plain, fields), tolerance=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_order_and_shards_of_clusters_are_irrelevant(analysis, weighted):
    labels, scores = random_cases()
    rng = np.random.default_rng(1)
    cluster = np.arange(N_CASES) // 6
    weight = rng.uniform(0.5, 2, N_CASES)

    def count(cases, cluster_names=cluster):
        design = {"weight": weight[cases]} if weighted else {}
        return trueness.tally(
            labels[cases], scores[cases], cluster=cluster_names[cases], **design
        )

    all_cases = np.arange(N_CASES)
    order = rng.permutation(N_CASES)
    whole = analysis(count(all_cases))

    # sums of weights differ in their last digits, and intervals by central differences
    # (a millionth of a count apart) enlarge that to 1e-10
    assert same(analysis(count(order)), whole, tolerance=1e-9)
    shards = count(order[:100]) + count(order[100:])
    assert same(analysis(shards), whole, tolerance=1e-9)

    # other names come in another order, in which other clusters are drawn
    renamed = count(all_cases, cluster_names=99 - cluster)
    assert agree(analysis, analysis(renamed), whole)
    tallies = {
        name: count(all_cases[cluster == name]).without_clusters()
        for name in np.unique(cluster).tolist()
    }
    assert agree(analysis, analysis(add_as_clusters(tallies)), whole)


@pytest.mark.parametrize(
    "arguments", [(), ("weight",), ("cluster",), ("weight", "cluster")]
)
def test_exchanged_labels_and_reversed_scores_mirror_the_auc(arguments):
    labels, scores = random_cases()
    rng = np.random.default_rng(2)
    columns = {
        "weight": rng.uniform(0.5, 2, N_CASES),
        "cluster": np.arange(N_CASES) // 6,
    }
    design = {name: columns[name] for name in arguments}

    def auc_with_interval(labels, scores):
        estimate = trueness.auc(labels, scores, **design)
        return np.array([estimate.value, estimate.low, estimate.high])

    auc = auc_with_interval(labels, scores)
    # the lower end of the one is the mirrored upper end of the other
    mirrored_auc = 1 - auc[[0, 2, 1]]

    exchanged = auc_with_interval(1 - labels, scores)
    assert exchanged == pytest.approx(mirrored_auc, abs=1e-12)
    reversed_auc = auc_with_interval(labels, -scores)
    assert reversed_auc == pytest.approx(mirrored_auc, abs=1e-12)
    assert auc_with_interval(1 - labels, -scores) == pytest.approx(auc)
