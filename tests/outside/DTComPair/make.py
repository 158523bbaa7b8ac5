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

vectors.write(
    __file__,
    suite="DTComPair",
    version="1.2.6",
    licence="GPL-3.0-or-later",
    source="Stock, Hielscher, Discacciati; its README, with its data Paired1",
    compared="Accuracy of two diagnostic tests, with Wilson's intervals",
    differs=(
        "Its default interval is Wald's, which may leave 0 and 1; ours is Wilson's.",
    ),
)
