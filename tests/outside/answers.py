"""Our answers to the vectors of other software: a closed table of calls.

A vector is a call, its inputs, and the number that somebody else gives, with the
significant digits to which it is known. An input "$name" is a column of the suite.
``docs/how_do_we_know.py`` writes the page from the same differences.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import trueness
from trueness import Attempts, Estimate, Panel, Tally

HERE = Path(__file__).parent
SUITES = sorted(path.parent.name for path in HERE.glob("*/vectors.json"))

Answers = dict[str, float]


def _estimate(estimate: Estimate, prefix: str = "") -> Answers:
    answers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    if prefix:
        return {
            prefix: estimate.value,
            f"{prefix}_low": estimate.low,
            f"{prefix}_high": estimate.high,
        }
    return answers | {"se": estimate.se}


def _auc(label: Any, score: Any, **options: Any) -> Answers:
    return _estimate(trueness.auc(label, score, **options))


def _average_precision(label: Any, score: Any, **options: Any) -> Answers:
    return _estimate(trueness.average_precision(label, score, **options))


def _precision_recall_area(label: Any, score: Any, **options: Any) -> Answers:
    return _estimate(trueness.ranking.precision_recall_area(label, score, **options))


def _nagelkerke(label: Any, score: Any, **options: Any) -> Answers:
    return _estimate(trueness.calibration.nagelkerke_r2(label, score, **options))


def _partial_auc(label: Any, score: Any, **options: Any) -> Answers:
    for name in ("fpr", "tpr"):
        if name in options:
            options[name] = tuple(options[name])
    return _estimate(trueness.partial_auc(label, score, **options))


def _metric(
    label: Any, score: Any, metric: str, threshold: float, **options: Any
) -> Answers:
    record = trueness.at_threshold(
        label, score, threshold=threshold, metrics=[metric], **options
    )
    return _estimate(record[metric])


def _table(
    metric: str, tp: float, fp: float, fn: float, tn: float, **options: Any
) -> Answers:
    verdicts = Tally([1, 0], pos=[int(tp), int(fn)], neg=[int(fp), int(tn)])
    record = trueness.at_threshold(verdicts, threshold=1, metrics=[metric], **options)
    return _estimate(record[metric])


def _best_threshold(label: Any, score: Any, **options: Any) -> Answers:
    point = trueness.best_threshold(label, score, **options)
    low, high = point.score_range
    return {"value": point.value, "low": low, "high": high}


def _compare_auc(
    label: Any, first: Any, second: Any, paired: bool = True, **options: Any
) -> Answers:
    if paired:
        answer = trueness.compare_auc(label, {"a": first, "b": second}, **options)
    else:
        separate = {
            "a": trueness.tally(label, first),
            "b": trueness.tally(label, second),
        }
        answer = trueness.compare_auc(separate, **options)
    return _pair(answer)


def _compare_verdicts(
    both: int, only_first: int, only_second: int, neither: int, **options: Any
) -> Answers:
    """Of positives: two tests find both, one of them, or neither."""
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    panel = Panel(["a", "b"], rows, pos=[both, only_first, only_second, neither])
    return _pair(trueness.compare_metric(panel, metric="recall", **options))


def _compare_tests(
    pos: list[int], neg: list[int], metric: str, **options: Any
) -> Answers:
    """Two tests on the same cases: positives and negatives of 11, 10, 01, 00."""
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    panel = Panel(["a", "b"], rows, pos=pos, neg=neg)
    pair = trueness.compare_metric(
        panel, metric=metric, effect="ratio", **options
    ).pairs[0]
    assert pair.ratio is not None
    return _pair_answers(pair) | {
        "chi_squared": pair.statistic**2,
        "ratio": pair.ratio.value,
        "inverse_ratio": 1 / pair.ratio.value,
    }


def _two_groups(first: list[int], second: list[int], **options: Any) -> Answers:
    """Two proportions of different cases, each as successes and number of cases."""
    groups = {
        name: Tally([1, 0], pos=[successes, cases - successes])
        for name, (successes, cases) in (("a", first), ("b", second))
    }
    pair = trueness.compare_groups(groups, "recall", effect="ratio", **options).pairs[0]
    assert pair.ratio is not None
    return _estimate(pair.difference, "difference") | _estimate(pair.ratio, "ratio")


def _pair(comparison: Any) -> Answers:
    return _pair_answers(comparison.pairs[0])


def _pair_answers(pair: Any) -> Answers:
    return {
        "difference": pair.difference.value,
        "low": pair.difference.low,
        "high": pair.difference.high,
        "statistic": pair.statistic,
        "p_value": pair.p_value,
    }


def _brier(label: Any, score: Any, **options: Any) -> Answers:
    return _estimate(trueness.brier(label, score, **options))


def _log_loss(label: Any, score: Any, **options: Any) -> Answers:
    return _estimate(trueness.log_loss(label, score, **options))


def _calibration_line(label: Any, score: Any, **options: Any) -> Answers:
    line = trueness.calibration_line(label, score, **options)
    return {
        "slope": line.slope.value,
        "slope_se": line.slope.se,
        "intercept": line.intercept.value,
        "intercept_se": line.intercept.se,
    }


def _calibration_test(label: Any, score: Any, **options: Any) -> Answers:
    test = trueness.calibration_test(label, score, **options)
    return {"statistic": test.statistic, "p_value": test.p_value}


def _calibration_index(label: Any, score: Any, **options: Any) -> Answers:
    index = trueness.calibration_index(label, score, **options)
    return {
        "ici": index.ici.value,
        "e50": index.e50.value,
        "e90": index.e90.value,
        "largest": index.largest.value,
    }


def _calibration_error(label: Any, score: Any, **options: Any) -> Answers:
    return {"plain": trueness.calibration_error(label, score, **options).plain.value}


def _decision_curve(
    label: Any, score: Any, threshold: float, **options: Any
) -> Answers:
    curve = trueness.decision_curve(label, score, threshold=[threshold], **options)
    return {
        "net_benefit": float(curve.net_benefit[0]),
        "treat_all": float(curve.treat_all[0]),
        "avoided_per_100": 100 * float(curve.interventions_avoided[0]),
    }


def _two_raters(both: int, only_first: int, only_second: int, neither: int) -> Answers:
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    panel = Panel(["a", "b"], rows, unknown=[both, only_first, only_second, neither])
    return {
        method: trueness.rater_agreement(panel, method=method).value
        for method in ("cohen", "gwet", "fleiss")
    }


def _rater_table(table: list[list[int]], **options: Any) -> Answers:
    """Two raters, as a square table of counts."""
    cells = [
        (first, second, count)
        for first, row in enumerate(table)
        for second, count in enumerate(row)
        if count
    ]
    rows = [[first, second] for first, second, _ in cells]
    panel = Panel(["a", "b"], rows, unknown=[count for _, _, count in cells])
    return _estimate(trueness.rater_agreement(panel, **options))


def _raters(ratings: dict[str, list[float | None]], **options: Any) -> Answers:
    columns = {
        name: [math.nan if rating is None else float(rating) for rating in column]
        for name, column in ratings.items()
    }
    items = len(next(iter(columns.values())))
    panel = trueness.panel([None] * items, columns)
    return _estimate(trueness.rater_agreement(panel, **options))


def _pass_at_k(passed: list[int], tried: list[int], k: int) -> Answers:
    items = [f"item {number}" for number in range(len(passed))]
    return _estimate(trueness.pass_at_k(Attempts(items, passed, tried), k))


def _across_sites(passed: list[int], tried: list[int], **options: Any) -> Answers:
    sites = {
        f"site {number}": Tally([1, 0], pos=[x, n - x])
        for number, (x, n) in enumerate(zip(passed, tried, strict=True))
    }
    answer = trueness.across_sites(sites, measure="recall", **options)
    return (
        _estimate(answer.mean, "mean")
        | _estimate(answer.tau, "between")
        | _estimate(answer.prediction, "prediction")
        | {"i_squared": answer.i_squared.value}
    )


def _summary_roc(tp: Any, fp: Any, fn: Any, tn: Any, **options: Any) -> Answers:
    studies = {
        f"study {number}": Tally([1, 0], pos=[a, c], neg=[b, d])
        for number, (a, b, c, d) in enumerate(zip(tp, fp, fn, tn, strict=True))
    }
    answer = trueness.summary_roc(studies, **options)
    return (
        _estimate(answer.sensitivity, "sensitivity")
        | _estimate(answer.specificity, "specificity")
        | {"correlation": answer.correlation}
    )


def _partly_verified(
    verified_pos: list[int],
    verified_neg: list[int],
    unverified: list[int],
    metric: str,
) -> Answers:
    """Of each verdict, 1 and 0: how many were verified, how many not."""
    verdicts = Tally([1, 0], verified_neg, verified_pos, unverified)
    record = trueness.at_threshold(
        verdicts, threshold=1, metrics=[metric], unlabelled="missing at random"
    )
    return _estimate(record[metric])


def _reader_study(data: Any = None, **options: Any) -> Answers:
    """Readings by column; by default Van Dyke's, which Trueness brings along."""
    if data is None:
        data = trueness.scan(trueness.samples.path("readers"))
    study = trueness.reader_study(data, label="truth", score="rating", **options)
    return _pair(study) | {
        "p_value": study.p_value,
        "statistic_of_all": study.statistic,
    }


def _groups(
    label: Any, score: Any, group: Any, metric: str, threshold: float
) -> Answers:
    """Rates by group, the largest gap of two and the smallest ratio of two."""
    tallies = trueness.tally(label, score, by=group)
    rates = {
        name: trueness.at_threshold(each, threshold, [metric])[metric].value
        for name, each in tallies.items()
    }
    pairs = trueness.compare_groups(tallies, metric, threshold=threshold).pairs
    ratios = trueness.compare_groups(
        tallies, metric, threshold=threshold, effect="ratio", reference="highest"
    ).pairs
    return {f"rate_{name}": rate for name, rate in rates.items()} | {
        "largest_gap": max(abs(pair.difference.value) for pair in pairs),
        "smallest_ratio": min(pair.ratio.value for pair in ratios),
    }


def _fairness(label: Any, score: Any, group: Any, threshold: float) -> Answers:
    """Names of fairness: each is a gap or a ratio of rates of groups."""
    selected, recall, fpr = (
        _groups(label, score, group, metric, threshold)
        for metric in ("selection_rate", "recall", "fpr")
    )
    return {
        "demographic_parity_difference": selected["largest_gap"],
        "demographic_parity_ratio": selected["smallest_ratio"],
        "equal_opportunity_difference": recall["largest_gap"],
        "equalized_odds_difference": max(recall["largest_gap"], fpr["largest_gap"]),
        "equalized_odds_ratio": min(recall["smallest_ratio"], fpr["smallest_ratio"]),
    }


def _scorecard(label: Any, score: Any) -> Answers:
    return {
        "auc": trueness.auc(label, score).value,
        "gini": trueness.gini(label, score).value,
        "ks": trueness.ks(label, score).ks.value,
    }


def _decile(label: Any, score: Any, decile: int) -> Answers:
    table = trueness.decile_table(label, score)
    row = list(table.decile).index(decile)
    names = ("n_pos", "n_neg", "rate", "gain", "cumulative_lift", "ks")
    return {name: float(getattr(table, name)[row]) for name in names}


def _psi(reference: Any, current: Any) -> Answers:
    return _estimate(trueness.psi(reference, current).psi)


def _grades(positives: list[int], negatives: list[int]) -> Answers:
    """Counts of grades, the lowest score first."""
    score = range(len(positives))
    information = trueness.psi(
        Tally(score, unknown=negatives), Tally(score, unknown=positives)
    )
    return {
        "gini": trueness.gini(Tally(score, neg=negatives, pos=positives)).value,
        "information_value": information.psi.value,
    }


def _wins(wins: int, losses: int, ties: int) -> Answers:
    verdicts = ["A"] * wins + ["B"] * losses + ["tie"] * ties
    pair = trueness.head_to_head("A", "B", verdicts).pairs[0]
    return {"p_value": pair.p_value, "win_rate": pair.win_rate.value}


def _jeffreys(defaults: int, others: int, pd: float) -> Answers:
    """A grade with its probability of default."""
    grade = Tally([pd], pos=[defaults], neg=[others])
    test = trueness.calibration.jeffreys_test(grade)
    return {
        "p_value": float(test.p_value[0]),
        "low": float(test.rate_low[0]),
        "high": float(test.rate_high[0]),
    }


def _horizon(time: Any, event: Any, score: Any, horizon: float) -> Answers:
    """Labels and weights at a time horizon, with censored follow-up."""
    found = trueness.at_horizon(time, event, horizon)
    data = (found.label, score)
    return {
        "auc": trueness.auc(*data, weight=found.weight).value,
        "brier": trueness.brier(*data, weight=found.weight).value,
    }


def _multiclass_auc(label: Any, scores: Any, **options: Any) -> Answers:
    return _estimate(trueness.multiclass_auc(label, np.transpose(scores), **options))


def _latent_class(votes: list[list[int]], cases: list[int]) -> Answers:
    """Tests without a truth, with independent errors."""
    names = [str(number) for number in range(1, 1 + len(votes[0]))]
    found = trueness.latent_class(Panel(names, votes, unknown=cases), dependence="none")
    answers = {"prevalence": found.prevalence.value}
    for name in names:
        answers[f"sensitivity_{name}"] = found.sensitivity[name].value
        answers[f"specificity_{name}"] = found.specificity[name].value
    return answers


def _judged(labelled: list[int], unlabelled: list[int]) -> Answers:
    """Label and verdict 11, 10, 01, 00; then verdicts 1 and 0 without a label."""
    both, missed, wrong, neither = labelled
    panel = Panel(
        ["judge"],
        [[1], [0]],
        pos=[both, missed],
        neg=[wrong, neither],
        unknown=unlabelled,
    )
    rate = trueness.prevalence(panel, labelled="random")
    return {"value": rate.value, "low": rate.low, "high": rate.high}


CALLS: dict[str, Callable[..., Answers]] = {
    "across_sites": _across_sites,
    "auc": _auc,
    "average_precision": _average_precision,
    "best_threshold": _best_threshold,
    "brier": _brier,
    "calibration_error": _calibration_error,
    "calibration_index": _calibration_index,
    "calibration_line": _calibration_line,
    "calibration_test": _calibration_test,
    "compare_auc": _compare_auc,
    "compare_tests": _compare_tests,
    "compare_verdicts": _compare_verdicts,
    "decile": _decile,
    "decision_curve": _decision_curve,
    "fairness": _fairness,
    "grades": _grades,
    "groups": _groups,
    "horizon": _horizon,
    "jeffreys": _jeffreys,
    "judged": _judged,
    "latent_class": _latent_class,
    "log_loss": _log_loss,
    "metric": _metric,
    "multiclass_auc": _multiclass_auc,
    "nagelkerke": _nagelkerke,
    "partial_auc": _partial_auc,
    "partly_verified": _partly_verified,
    "pass_at_k": _pass_at_k,
    "precision_recall_area": _precision_recall_area,
    "psi": _psi,
    "rater_table": _rater_table,
    "raters": _raters,
    "reader_study": _reader_study,
    "scorecard": _scorecard,
    "summary_roc": _summary_roc,
    "table": _table,
    "two_groups": _two_groups,
    "two_raters": _two_raters,
    "wins": _wins,
}


@cache
def read_suite(name: str) -> dict[str, Any]:
    suite: dict[str, Any] = json.loads((HERE / name / "vectors.json").read_text())
    return suite


def fill_in(inputs: Any, data: dict[str, Any]) -> Any:
    """Put columns in place of their names."""
    if isinstance(inputs, dict):
        return {key: fill_in(value, data) for key, value in inputs.items()}
    if isinstance(inputs, list):
        return [fill_in(value, data) for value in inputs]
    if isinstance(inputs, str) and inputs.startswith("$"):
        return data[inputs[1:]]
    return inputs


@cache
def answers_of(name: str) -> list[tuple[dict[str, Any], float]]:
    """Each vector of a suite with our number; the same call is made once."""
    suite = read_suite(name)
    answered: dict[tuple[str, str], Answers] = {}
    compared = []
    for vector in suite["vectors"]:
        call, answer = vector["call"].split(".")
        key = (call, json.dumps(vector["inputs"], sort_keys=True))
        if key not in answered:
            inputs = fill_in(vector["inputs"], suite["data"])
            with warnings.catch_warnings():
                # what a warning doubts is not what is compared here
                warnings.simplefilter("ignore")
                answered[key] = CALLS[call](**inputs)
        compared.append((vector, answered[key][answer]))
    return compared


def tolerance(vector: dict[str, Any]) -> float:
    """Half a unit of the last digit that is known."""
    number = abs(vector["number"])
    leading_digit = math.floor(math.log10(number)) if number else 0
    last_digit = 10.0 ** (leading_digit + 1 - vector["digits"])
    # the number itself was rounded, to the nearest float
    return 0.5 * last_digit + 4 * np.finfo(float).eps * number
