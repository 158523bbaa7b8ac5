"""Items of Zhang (2024): Levels of confidence and utility for binary classifiers."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

from items import CORRECTED, LEFT_OUT, Item, Paper, Section

from trueness.trees import estimator_error

LEAF_TABLES = Path(__file__).parents[1] / "tables" / "leaf_tables.py"

SETUP = """\
import numpy as np
import pandas as pd
from scipy.stats import binom, multinomial
import trueness
from trueness.trees import (
    entropic_binomial,
    entropic_tree,
    estimator_error,
    tree_levels,
)

golf = pd.read_csv(trueness.samples.path("golf"))
covariates = ["Outlook", "Temp", "Humidity", "Windy"]
leaves = {
    name: trueness.leaves(golf, node=name, label="Play Golf", positive="Yes")
    for name in covariates
}
# as Eq. 9 is printed: the mle, and an empty leaf is always wrong
printed = trueness.compare_splits(leaves, method="mle", empty="wrong")
order = [k for k in printed.name if k in covariates]
confidence, utility = trueness.confidence_level, trueness.utility_level
split_a, split_b = ([0.9, 0.1], [0.75, 0.25]), ([0.2, 0.8], [0.75, 0.6875])
no_split = ([1.0], [0.7])
n, p = 8, 0.7


def gini_of(name):
    return printed.gini[printed.name.tolist().index(name)]


def level_by_equation_9(n, weight, p):
    # from m = 1, as printed
    right = [
        binom(m, p).sf(m / 2) + binom(m, p).pmf(m / 2) / 2 for m in range(1, n + 1)
    ]
    return np.dot(right, binom(n, weight).pmf(np.arange(1, n + 1)))


def confidence_by_equation_5(n, p):
    return binom(n, p).sf(n / 2) + (n % 2 == 0) * binom(n, p).pmf(n // 2) / 2
"""

RULE_1 = Section(
    "1. Introduction",
    (
        Item(
            "rule 2 (a) to (c)",
            "1 if the proportion exceeds 0.5, 0 below, a fair coin at 0.5",
            "trueness.Leaves(['a', 'b', 'c'], [1, 2, 1], [2, 1, 1])"
            ".report().majority.tolist()",
            printed="['positive', 'negative', 'tie']",
        ),
        Item(
            "p_V",
            "E max(p^, 1 - p^) >= p_V: the relative frequency is biased upwards",
            "estimator_error(5, 0.6, method='mle').bias > 0",
            printed="True",
        ),
    ),
)
ENTROPIES = Section(
    "2.1. Entropies and Entropic Objects",
    (
        Item(
            "Definition 1",
            "an entropy depends on p only through the ordered p",
            "confidence(n, 0.3) == confidence(n, 0.7)",
            printed="True",
        ),
        Item(
            "text",
            "Shannon's, Rényi's, Tsallis' and generalized Simpson's entropy",
            verdict=LEFT_OUT,
            reason="named as examples; nothing in the paper is computed from them",
        ),
    ),
)
BINOMIAL = Section(
    "2.2. Entropic Binomial Distributions",
    (
        Item(
            "Eq. 1",
            "the binomial distribution",
            "entropic_binomial(n, p).pmf(8)",
            equation="binom(n, p).pmf(8) + binom(n, p).pmf(0)",
            reason="the majority is 8 when 8 or 0 of 8 are of one class",
        ),
        Item(
            "Eq. 2",
            "the entropic binomial distribution",
            "entropic_binomial(n, p).pmf([4, 5, 6, 7, 8])",
            equation="[binom(n, p).pmf(k) + (k > n / 2) * binom(n, p).pmf(n - k) "
            "for k in (4, 5, 6, 7, 8)]",
        ),
        Item(
            "Eq. 3",
            "the distribution of cases and of one class in the leaves",
            "entropic_tree(4, [0.5, 0.5], [1.0, 1.0]).pmf([3, 1], [3, 1])",
            equation="multinomial(4, [0.5, 0.5]).pmf([3, 1])",
            reason="with p = 1 in both leaves only the multinomial is left",
        ),
        Item(
            "Eq. 4",
            "the distribution of cases and majorities in the leaves",
            "entropic_tree(5, [0.4, 0.6], [0.7, 0.8]).pmf([3, 2], [2, 1])",
            equation="multinomial(5, [0.4, 0.6]).pmf([3, 2]) "
            "* (binom(3, 0.7).pmf(2) + binom(3, 0.7).pmf(1)) * binom(2, 0.8).pmf(1)",
        ),
    ),
)
LEVELS = Section(
    "2.3. Levels of Confidence and Utility",
    (
        Item(
            "Eq. 5",
            "P(C) of one leaf",
            "[confidence(k, p) for k in (7, 8)]",
            equation="[confidence_by_equation_5(k, p) for k in (7, 8)]",
        ),
        Item(
            "Eq. 6",
            "P(U) = p P(C) + (1 - p)(1 - P(C))",
            "utility(n, p)",
            equation="p * confidence_by_equation_5(n, p) "
            "+ (1 - p) * (1 - confidence_by_equation_5(n, p))",
        ),
        Item(
            "Fact 1",
            "P(C) tends to 1 and P(U) to p",
            "[confidence(10**6, p), utility(10**6, p)]",
            equation="[1, p]",
        ),
        Item(
            "text",
            "at 95 % and p = 0.75, the minimum sample size is n = 9",
            "trueness.plan_leaf(p=0.75, confidence=0.95)",
            printed="9",
        ),
        Item(
            "text",
            "to reach a utility of 0.70 with p = 0.75, n = 5",
            "trueness.plan_leaf(p=0.75, utility=0.70)",
            printed="5",
            verdict=CORRECTED,
            reason="five cases reach 0.6982, printed as 0.70; `decimals=2` gives 5",
        ),
        Item(
            "Table 1",
            "Confidence levels as a function of n and p: n = 7, p = 0.70",
            "confidence(7, 0.70)",
            printed="0.87",
            reason="275 cells below, all equal",
        ),
        Item(
            "Eq. 7",
            "the numbers of cases in the leaves are multinomial",
            "entropic_tree(4, [0.25, 0.75], [1.0, 1.0]).pmf([1, 3], [1, 3])",
            equation="multinomial(4, [0.25, 0.75]).pmf([1, 3])",
        ),
        Item(
            "Eq. 8",
            "the number of cases of one leaf is binomial",
            "sum(entropic_tree(4, [0.25, 0.75], [1.0, 1.0])"
            ".pmf([k, 4 - k], [k, 4 - k]) for k in (0, 1))",
            equation="binom(4, 0.25).cdf(1)",
        ),
        Item(
            "Eq. 9",
            "P(C_j), the sum from m = 1",
            "tree_levels(10, [0.5, 0.5], [0.7, 0.7], 'wrong').node_confidence[0]",
            equation="level_by_equation_9(10, 0.5, 0.7)",
        ),
        Item(
            "Eq. 9",
            "an empty leaf is then always wrong",
            "tree_levels(10, [0.5, 0.5], [0.7, 0.7]).node_confidence[0]",
            equation="level_by_equation_9(10, 0.5, 0.7)",
            verdict=CORRECTED,
            reason="a coin is tossed there, as the paper's own rule (c) says of a tie",
        ),
        Item(
            "Eq. 10",
            "P(C) is the weighted mean of P(C_j)",
            "tree_levels(10, *split_a, 'wrong').confidence",
            equation="0.9 * level_by_equation_9(10, 0.9, 0.75) "
            "+ 0.1 * level_by_equation_9(10, 0.1, 0.75)",
        ),
        Item(
            "Eq. 11",
            "P(U) is the weighted mean of p P(C_j) + (1 - p)(1 - P(C_j))",
            "tree_levels(10, *split_a, 'wrong').utility",
            equation="sum(w * (0.75 * level_by_equation_9(10, w, 0.75) + 0.25 "
            "* (1 - level_by_equation_9(10, w, 0.75))) for w in (0.9, 0.1))",
        ),
        Item(
            "Table 2",
            "Utility levels: n = 10, p = 0.60",
            "utility(10, 0.60)",
            printed="0.54",
            verdict=CORRECTED,
            reason="0.5467 was truncated, as in three other cells of the 275 below",
        ),
        Item(
            "Eq. 12",
            "Example 1, two leaves: P(C)",
            "tree_levels(10, [0.75, 0.25], [0.6, 0.9], 'wrong').confidence",
            equation="0.75 * level_by_equation_9(10, 0.75, 0.6) "
            "+ 0.25 * level_by_equation_9(10, 0.25, 0.9)",
        ),
        Item(
            "Eq. 13",
            "Example 1, two leaves: P(U)",
            "tree_levels(10, [0.75, 0.25], [0.6, 0.9], 'wrong').utility",
            equation="sum(w * (q * level_by_equation_9(10, w, q) + (1 - q) "
            "* (1 - level_by_equation_9(10, w, q))) "
            "for w, q in ((0.75, 0.6), (0.25, 0.9)))",
        ),
        *(
            Item(
                f"Table {key}",
                f"{word} level with J = 2 and lambda = {weight}: n = 10, (0.7, 0.7)",
                f"tree_levels(10, [{weight}, {round(1 - weight, 2)}], [0.7, 0.7], "
                f"'wrong').{word.lower()}",
                printed=value,
                verdict=CORRECTED,
                reason="not Eq. 9: computed with Y ~ B(n, lambda p) whatever the number "
                "of cases; all cells below",
            )
            for key, word, weight, value in (
                (3, "Confidence", 0.5, "0.7109"),
                (4, "Confidence", 0.75, "0.7447"),
                (5, "Confidence", 0.9, "0.8047"),
                (6, "Utility", 0.5, "0.5844"),
                (7, "Utility", 0.75, "0.5979"),
                (8, "Utility", 0.9, "0.6219"),
            )
        ),
        Item(
            "Fig. 1",
            "Confidence levels of competing splits",
            figure="leaf_confidence",
        ),
        Item("Fig. 2", "Utility levels of competing splits", figure="leaf_utility"),
        Item(
            "text",
            "these curves cross, converge and dominate",
            "trueness.compare_splits({'A': split_a, 'B': split_b, 'none': no_split}, "
            "n=10).name.tolist()",
            reason="by utility with 10 cases",
        ),
    ),
)
ESTIMATES = Section(
    "2.4. MLE and Entropic MLE",
    (
        Item(
            "Eq. 14",
            "p^ = max(Y / n, 1 - Y / n)",
            "trueness.top_probability(5, 7, 'mle').value",
            equation="max(5 / 7, 1 - 5 / 7)",
        ),
        Item(
            "Eq. 15",
            "the mle of P(C)",
            "confidence(7, 5 / 7)",
            equation="sum(binom(7, 5 / 7).pmf(k) for k in range(4, 8))",
        ),
        Item(
            "Eq. 16",
            "the mle of P(U) = 1 - P(C)(1 - p) - p (1 - P(C))",
            "utility(7, 5 / 7)",
            equation="1 - confidence(7, 5 / 7) * (2 / 7) "
            "- (5 / 7) * (1 - confidence(7, 5 / 7))",
        ),
        Item(
            "text",
            "Facts 2 to 4 indicate a tendency of over-estimation by (15)",
            "estimator_error(20, 0.7, method='mle', quantity='confidence').bias > 0",
            printed="True",
            verdict=CORRECTED,
            reason="only near p = 1/2",
        ),
        Item(
            "Fact 2",
            "E(p^) > p",
            "min(estimator_error(k, q, method='mle').bias "
            "for k in (5, 20, 50) for q in (0.6, 0.75, 0.9)) > 0",
            printed="True",
        ),
        Item(
            "Fact 3, Eq. 17",
            "P(C) increases with p, n odd: P(Y > n - Y)",
            "confidence(7, p)",
            equation="binom(7, p).sf(3)",
        ),
        Item(
            "Fact 3, Eq. 18",
            "n even: P(Y >= n - Y) less half a tie",
            "confidence(8, p)",
            equation="binom(8, p).sf(3) - binom(8, p).pmf(4) / 2",
        ),
        Item(
            "Fact 4, Eq. 19",
            "P'(U) = P'(C)(2p - 1) + 2 P(C) - 1 > 0",
            "bool(np.all(np.diff(utility(8, np.linspace(0.5, 1, 200))) > 0))",
            printed="True",
        ),
        Item(
            "emle",
            "the value that maximises the likelihood of the entropic binomial",
            "trueness.top_probability(5, 7, 'emle').value",
            printed="0.6667",
        ),
        Item(
            "Eq. 20",
            "p^b = w p^ + (1 - w) p~",
            "trueness.top_probability(5, 7, 'blend').value",
            equation="5 / 7 * (5 / 7) + (1 - 5 / 7) * (2 / 3)",
        ),
        Item(
            "Eq. 21",
            "p^b = p~ + p^ (p^ - p~)",
            "trueness.top_probability(5, 7, 'blend').value",
            equation="2 / 3 + 5 / 7 * (5 / 7 - 2 / 3)",
        ),
        Item(
            "Example 2",
            "p^ = 5/7 = 0.7134",
            "trueness.top_probability(5, 7, 'mle').value",
            printed="0.7134",
            verdict=CORRECTED,
            reason="5/7 is 0.7143",
        ),
        Item(
            "Example 2",
            "P^(C) = 0.8917",
            "confidence(7, 5 / 7)",
            printed="0.8917",
        ),
        Item("Example 2", "P^(U) = 0.6679", "utility(7, 5 / 7)", printed="0.6679"),
        Item("Example 2", "P~(C) = 0.8267", "confidence(7, 2 / 3)", printed="0.8267"),
        Item("Example 2", "P~(U) = 0.6089", "utility(7, 2 / 3)", printed="0.6089"),
        Item(
            "Example 2",
            "p^b = 0.7000",
            "trueness.top_probability(5, 7).value",
            printed="0.7000",
            verdict=CORRECTED,
            reason="103/147 is 0.7007",
        ),
        Item(
            "Example 2",
            "P^b(C) = 0.8740",
            "confidence(7, 103 / 147)",
            printed="0.8740",
            verdict=CORRECTED,
            reason="from 0.7 in place of 103/147",
        ),
        Item(
            "Example 2",
            "P^b(U) = 0.6496",
            "utility(7, 103 / 147)",
            printed="0.6496",
            verdict=CORRECTED,
            reason="from 0.7 in place of 103/147",
        ),
        *(
            Item(
                f"Eq. {number}",
                f"emle <= blend <= mle {words}",
                f"bool(np.all(np.diff([{call} for m in ('emle', 'blend', 'mle')]) >= 0))",
                printed="True",
            )
            for number, words, call in (
                (22, "of p", "trueness.top_probability(5, 7, m).value"),
                (
                    23,
                    "of P(C)",
                    "confidence(7, trueness.top_probability(5, 7, m).value)",
                ),
                (24, "of P(U)", "utility(7, trueness.top_probability(5, 7, m).value)"),
            )
        ),
        Item(
            "Fig. 3",
            "Likelihood and entropic likelihood",
            figure="majority_likelihood",
        ),
    ),
)
DRAWS = 10_000  # samples of each of the paper's simulations
STANDARD_ERRORS = 4  # as in the tables below


def chance(n: int, p: float, method: str, quantity: str = "probability") -> float:
    """Return how far a simulated bias may be off."""
    error = estimator_error(n, p, method=method, quantity=quantity)
    return STANDARD_ERRORS * error.standard_deviation / math.sqrt(DRAWS)


def chance_of_square(n: int, p: float, method: str) -> float:
    """Return how far a simulated mean squared error may be off."""
    of_estimate = runpy.run_path(str(LEAF_TABLES))["expectation"]
    _, standard_error = of_estimate(n, p, method, lambda x: (x - p) ** 2)
    return STANDARD_ERRORS * float(standard_error)


STUDIES = Section(
    "2.5. Several Numerical Studies",
    (
        Item(
            "Table 9",
            "Biases with very small p: p^ at n = 100",
            "estimator_error(100, 0.51, method='mle').bias",
            printed="0.0307",
            noise=chance(100, 0.51, "mle"),
            reason="all cells below; three need the tie that the paper left out",
        ),
        Item(
            "Table 16",
            "Biases in estimating p: p^ at n = 5, 0.6",
            "estimator_error(5, 0.6, method='mle').bias",
            printed="0.1021",
            noise=chance(5, 0.6, "mle"),
            reason="120 cells below; two cannot be chance",
        ),
        Item(
            "Table 17",
            "Mean squared errors: n = 10, blend, 0.7",
            "estimator_error(10, 0.7).mean_squared_error",
            printed="0.0184",
            noise=chance_of_square(10, 0.7, "blend"),
            reason="120 cells below; seven are misprints",
        ),
        Item(
            "Table 18",
            "Biases in estimating P(C): mle, n = 20, 0.6",
            "estimator_error(20, 0.6, method='mle', quantity='confidence').bias",
            printed="-0.0004",
            noise=chance(20, 0.6, "mle", "confidence"),
            verdict=CORRECTED,
            reason="the half of a tie in Eq. 15 was left out; 27 of 132 cells differ",
        ),
        Item(
            "Table 19",
            "Biases in estimating P(U): mle, n = 50, 0.6",
            "estimator_error(50, 0.6, method='mle', quantity='utility').bias",
            printed="0.0098",
            noise=chance(50, 0.6, "mle", "utility"),
            reason="eight of 132 cells below differ",
        ),
        Item(
            "text",
            "the blend does better than the mle across the board",
            "sum(abs(estimator_error(k, q).bias) > "
            "abs(estimator_error(k, q, method='mle').bias) "
            "for k in (5, 6, 7, 8, 9, 10, 20, 30, 40, 50) "
            "for q in (0.6, 0.7, 0.8, 0.9))",
            printed="0",
            verdict=CORRECTED,
            reason="its bias is larger in 22 of the 40 cells of Table 16",
        ),
        Item(
            "text",
            "P(U) at p = 0.6, bias under 1 %: n = 70 is needed",
            "min(k for k in (20, 30, 40, 50, 60, 70) if abs(estimator_error(k, 0.6, "
            "method='mle', quantity='utility').bias) < 0.01)",
            printed="70",
            verdict=CORRECTED,
            reason="Table 19 itself prints 0.0098 at n = 50",
        ),
    ),
)
GOLF = Section(
    "Example 3: golfing and weather",
    (
        Item(
            "Table 10",
            "Golfing and weather, n = 14",
            "len(golf)",
            printed="14",
            reason="the sample `golf` is this table",
        ),
        Item(
            "Table 11",
            "Outlook: n_j",
            "(leaves['Outlook'].neg + leaves['Outlook'].pos).tolist()",
            printed="[4, 5, 5]",
            reason="overcast, rainy, sunny",
        ),
        Item(
            "Table 11",
            "Outlook: P(C) of rainy",
            "tree_levels(14, [5/14, 4/14, 5/14], [3/5, 1, 3/5], 'wrong')"
            ".node_confidence[0]",
            printed="0.8418",
            verdict=CORRECTED,
            reason="not Eq. 9: n_j in place of n",
        ),
        Item(
            "Table 12",
            "Temp: P(C) of mild",
            "tree_levels(14, [4/14, 6/14, 4/14], [2/4, 4/6, 3/4], 'wrong')"
            ".node_confidence[1]",
            printed="0.9408",
            verdict=CORRECTED,
            reason="as Table 11",
        ),
        Item(
            "Table 13",
            "Humidity: P(C) of high",
            "tree_levels(14, [7/14, 7/14], [4/7, 6/7], 'wrong').node_confidence[0]",
            printed="0.9246",
            verdict=CORRECTED,
            reason="as Table 11",
        ),
        Item(
            "Table 14",
            "Windy: P(C) of false",
            "tree_levels(14, [8/14, 6/14], [6/8, 3/6], 'wrong').node_confidence[0]",
            printed="0.9916",
            verdict=CORRECTED,
            reason="as Table 11",
        ),
        Item(
            "Table 14",
            "Windy: y_j of false and true",
            "leaves['Windy'].pos.tolist()",
            printed="[6, 3]",
        ),
        Item(
            "Table 15",
            "Gini's impurity of Humidity",
            "gini_of('Humidity')",
            printed="0.3673",
        ),
        Item(
            "Table 15",
            "of Windy",
            "gini_of('Windy')",
            printed="0.4286",
        ),
        Item(
            "Table 15",
            "of Outlook",
            "gini_of('Outlook')",
            printed="0.7143",
            verdict=CORRECTED,
            reason="the weighted impurity is 0.3429",
        ),
        Item(
            "Table 15",
            "of Temp",
            "gini_of('Temp')",
            printed="0.7976",
            verdict=CORRECTED,
            reason="the weighted impurity is 0.4405",
        ),
        Item(
            "text",
            "Humidity is the best predictor, followed by Wind, Outlook and Temp",
            "', '.join(order)",
            printed="Humidity, Windy, Outlook, Temp",
            verdict=CORRECTED,
            reason="by Eq. 9 Outlook is second",
        ),
        Item(
            "text",
            "the Gini impurities also support the same ranking",
            "', '.join(sorted(covariates, key=gini_of))",
            printed="Humidity, Windy, Outlook, Temp",
            verdict=CORRECTED,
            reason="Gini puts Outlook first",
        ),
    ),
)
SUMMARY = Section(
    "3. Summary",
    (
        Item(
            "recommendation 1",
            "p_a may be used to determine the sample size via (5) and (6)",
            "trueness.plan_leaf(p=0.6, confidence=0.95)",
            equation="min(k for k in range(1, 200) "
            "if confidence_by_equation_5(k, 0.6) >= 0.95)",
        ),
        Item(
            "recommendation 2",
            "a minimum of n = 40 if p^ is used and n = 20 if p^b is used",
            "trueness.trees.leaf_reports.RECOMMENDED_CASES['blend']",
            printed="20",
            reason="the paper names Table 17 where Table 16 is meant; report, shell and "
            "page say which leaves are smaller",
        ),
        Item(
            "recommendation 3",
            "(10) and (11) with lambda = n_j / n and the proposed estimator",
            "trueness.compare_splits(leaves).name[0]",
            reason="`leaves.report().tree` has both levels of one tree",
        ),
        Item(
            "sec. 1",
            "relevance to multinomial decision trees",
            verdict=LEFT_OUT,
            reason="the paper defines its levels for two classes only; count one class "
            "against the others",
        ),
    ),
)


def tables() -> dict[str, list[str]]:
    """Return all numeric tables: ours, then the printed value in brackets."""
    text = runpy.run_path(str(LEAF_TABLES))["text"]()
    return {"Every table recomputed": text.splitlines()}


PAPER = Paper(
    name="zhang2024",
    setup=SETUP,
    sections=(
        RULE_1,
        ENTROPIES,
        BINOMIAL,
        LEVELS,
        ESTIMATES,
        STUDIES,
        GOLF,
        SUMMARY,
    ),
    tables=tables,
)
