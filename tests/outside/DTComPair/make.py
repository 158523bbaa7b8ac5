"""python tests/outside/DTComPair/make.py"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors

# Its data Paired1, two tests on the same patients: tp, fp, fn, tn
FIRST = {"tp": 397, "fp": 84, "fn": 54, "tn": 177}
SECOND = {"tp": 341, "fp": 53, "fn": 110, "tn": 208}
# as its README prints them: value, and Wilson's interval
PROPORTIONS = (
    (FIRST, "recall", 0.8802661, 0.8470, 0.9071),
    (FIRST, "specificity", 0.6781609, 0.6193, 0.7319),
    (FIRST, "precision", 0.8253638, 0.7889, 0.8567),
    (FIRST, "npv", 0.7662338, 0.7076, 0.8162),
    (SECOND, "recall", 0.7560976, 0.7144, 0.7935),
    (SECOND, "specificity", 0.7969349, 0.7440, 0.8413),
    (SECOND, "precision", 0.8654822, 0.8282, 0.8957),
    (SECOND, "npv", 0.6540881, 0.6002, 0.7042),
)
RATIOS = (
    (FIRST, "lr_positive", 2.7351124, 8),
    (FIRST, "lr_negative", 0.1765568, 7),
    (SECOND, "lr_positive", 3.7234238, 8),
    (SECOND, "lr_negative", 0.3060507, 7),
)

vectors = Vectors()
for cells, metric, value, low, high in PROPORTIONS:
    inputs = {**cells, "metric": metric}
    vectors.add("table.value", inputs, value, 7)
    vectors.add("table.low", inputs, low, 4)
    vectors.add("table.high", inputs, high, 4)
for cells, metric, value, digits in RATIOS:
    vectors.add("table.value", {**cells, "metric": metric}, value, digits)

# both tests together: positives and negatives that both, one or none of them flags
PAIRED = {"pos": [319, 78, 22, 32], "neg": [31, 53, 22, 155]}
# pv.gs and pv.wgs, run with R on Paired1: chi-squared and p; the second as printed in
# its README
SCORE_TESTS = (
    ("precision", "leisenring", 5.7112407047198, 0.0168566217259, 12),
    ("npv", "leisenring", 17.7856702074, 2.47238326693e-05, 11),
    ("precision", "kosinski", 5.46588745, 0.01939120, 7),
    ("npv", "kosinski", 16.53540, 4.775012e-05, 7),
)
for metric, method, chi_squared, p_value, digits in SCORE_TESTS:
    inputs = {**PAIRED, "metric": metric, "method": method}
    vectors.add("compare_tests.chi_squared", inputs, chi_squared, digits)
    vectors.add("compare_tests.p_value", inputs, p_value, digits)
# pv.rpv, sesp.rel and tpffpf.rel: second over first
for metric, ratio, digits in (
    ("precision", 1.04860694, 9),
    ("npv", 0.8536403, 7),
    ("recall", 0.858942065491, 12),
    ("specificity", 1.175141242937853, 13),
    ("fpr", 0.630952380952381, 13),
):
    inputs = {**PAIRED, "metric": metric}
    vectors.add("compare_tests.inverse_ratio", inputs, ratio, digits)

# 700 patients of ours, with R's DTComPair 1.2.2
SECOND_STUDY = {"pos": [194, 33, 14, 33], "neg": [41, 59, 40, 286]}
for metric, method, chi_squared, p_value in (
    ("precision", "leisenring", 1.161919324864, 0.28106784474182),
    ("npv", "leisenring", 5.156240888012, 0.02316297891412),
    ("precision", "kosinski", 1.153218372186, 0.28287644370018),
    ("npv", "kosinski", 5.024070889319, 0.02499733366504),
):
    inputs = {**SECOND_STUDY, "metric": metric, "method": method}
    vectors.add("compare_tests.chi_squared", inputs, chi_squared, 12)
    vectors.add("compare_tests.p_value", inputs, p_value, 12)
# McNemar's test: chi-squared, and the exact p-value
for metric, chi_squared, p_value in (
    ("recall", 7.680851063829787, 0.007942726509484),
    ("specificity", 3.646464646464646, 0.06990057369495),
):
    inputs = {**SECOND_STUDY, "metric": metric, "method": "mcnemar"}
    vectors.add("compare_tests.chi_squared", inputs, chi_squared, 13)
    vectors.add("compare_tests.p_value", inputs, p_value, 12)
for metric, ratio in (
    ("recall", 0.916299559471366),
    ("specificity", 1.05828220858896),
    ("precision", 1.03678185448836),
    ("npv", 0.96043616497246),
):
    inputs = {**SECOND_STUDY, "metric": metric}
    vectors.add("compare_tests.inverse_ratio", inputs, ratio, 12)
# Tango's interval of the second less the first
for metric, low, high in (
    ("recall", -0.12009386359340, -0.02110463119771),
    ("specificity", -0.001194605944862, 0.090878229046092),
):
    inputs = {**SECOND_STUDY, "metric": metric}
    # it stops its search at steps of 1e-7
    vectors.add("compare_tests.low", inputs, -high, 5)
    vectors.add("compare_tests.high", inputs, -low, 3)

vectors.write(
    __file__,
    suite="DTComPair",
    version="1.2.6, 1.2.2",
    licence="GPL-3.0-or-later",
    source="Stock, Hielscher, Discacciati; its README, with its data Paired1; counts "
    "of ours",
    compared="Two diagnostic tests: Wilson's and Tango's intervals, Leisenring's, "
    "Kosinski's and McNemar's tests, ratios",
    differs=(
        "Its interval of a ratio takes the normal quantile, ours Student's.",
        "Its default interval is Wald's, which may exceed 0 and 1; ours is Wilson's.",
    ),
)
