"""python tests/outside/statsmodels/make.py"""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

vectors = Vectors()

for successes, cases in ((7, 9), (1, 40), (163, 170), (0, 8), (25, 25)):
    table = {"tp": successes, "fn": cases - successes, "fp": 1, "tn": 1}
    inputs = {**table, "metric": "recall", "level": 0.9}
    low, high = proportion_confint(successes, cases, 0.1, method="wilson")
    if successes:
        vectors.add("table.low", inputs, low)
    if successes < cases:
        vectors.add("table.high", inputs, high)

for first, second in (((7, 9), (3, 8)), ((56, 70), (48, 80)), ((4, 300), (19, 310))):
    inputs = {"first": first, "second": second}
    # Newcombe's method 10
    low, high = confint_proportions_2indep(*first, *second, method="newcomb")
    vectors.add("two_groups.difference_low", inputs, low)
    vectors.add("two_groups.difference_high", inputs, high)

for both, only_first, only_second, neither in ((31, 8, 1, 5), (90, 14, 12, 40)):
    pairs = {
        "both": both,
        "only_first": only_first,
        "only_second": only_second,
        "neither": neither,
    }
    table = [[both, only_first], [only_second, neither]]
    exact = mcnemar(table, exact=True).pvalue
    vectors.add("compare_verdicts.p_value", {**pairs, "method": "mcnemar"}, exact)
    score = mcnemar(table, exact=False, correction=False).pvalue
    vectors.add("compare_verdicts.p_value", pairs, score)

for counts in (
    [[14, 3, 2], [5, 9, 4], [0, 6, 21]],
    [[40, 2, 1, 0], [8, 11, 3, 1], [2, 5, 7, 2], [0, 1, 4, 13]],
):
    for weights in (None, "linear", "quadratic"):
        inputs = {"table": counts, "method": "cohen"}
        if weights:
            inputs["weights"] = weights
        theirs = cohens_kappa(np.array(counts), wt=weights, return_results=False)
        vectors.add("rater_table.value", inputs, theirs)

# four raters of each item: how many chose each of three categories
number_of = np.array([[4, 0, 0], [3, 1, 0], [0, 4, 0], [1, 1, 2], [0, 0, 4], [2, 2, 0]])
chosen = [np.repeat(np.arange(3), row).tolist() for row in number_of]
columns = {f"rater_{k}": [row[k] for row in chosen] for k in range(4)}
for method, theirs in (("fleiss", "fleiss"), ("brennan-prediger", "randolph")):
    inputs = {"ratings": columns, "method": method}
    vectors.add("raters.value", inputs, fleiss_kappa(number_of, method=theirs))

vectors.write(
    __file__,
    suite="statsmodels",
    version=version("statsmodels"),
    licence="BSD-3-Clause",
    source="Seabold, Perktold et al.; counts of ours",
    compared="Intervals of Wilson and Newcombe, McNemar's tests; kappas of Cohen "
    "(weighted, too), Fleiss, Randolph (Brennan and Prediger)",
)
