"""Items of Ramazi, Mari Oriyad: Optimal accuracy threshold using 0-1 ILP formulation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from items import CORRECTED, LEFT_OUT, Item, Paper, Section, table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "table1.json"

SETUP = """\
import numpy as np
import trueness

y = np.array([1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0])
score = np.array([0.9, 0.8, 0.8, 0.7, 0.6, 0.55, 0.5, 0.4, 0.4, 0.3, 0.2, 0.1])
t = trueness.tally(y, score)
best = trueness.best_threshold(t, "accuracy", method="milp-cases")
flagged = score >= best.threshold
program = trueness.milp_program(t, variables_per="case")
two_cases = trueness.milp_program(
    trueness.tally([1, 0], [0.8, 0.3]), variables_per="case"
)
mixed = "0.7*accuracy + 0.3*recall"
weighted = trueness.milp_program(t, mixed, variables_per="case")
cuts = np.append(np.unique(score), np.inf)
"""

SECTIONS = (
    Section(
        "Classification",
        (
            Item(
                "accuracy",
                "accuracy = (TP + TN) / (TP + TN + FP + FN)",
                'trueness.at_threshold(t, 0.5)["accuracy"].value',
                equation="np.mean((score >= 0.5) == y)",
            ),
            Item(
                "threshold",
                "the label is 1 where the predicted probability is at least t, else 0",
                "best.rule.decide(score).astype(int)",
                equation="np.where(score >= best.threshold, 1, 0)",
            ),
            Item(
                "accuracy",
                "accuracy = 1 - (1/N) sum of abs(y - label)",
                "best.value",
                equation="1 - np.abs(y - flagged).sum() / y.size",
            ),
            Item(
                "exhaustive search",
                "examine all the possible threshold values to obtain the best one",
                'trueness.best_threshold(t, "accuracy").value',
                equation="max(np.mean((score >= c) == y) for c in cuts)",
                reason="one sweep over the sorted scores examines all of them",
            ),
        ),
    ),
    Section(
        "Integer linear programming (ILP) formulation",
        (
            Item(
                "program (1)",
                "minimize the sum of abs(y - label) subject to the threshold rule",
                "best.value * y.size",
                equation="max(np.sum((score >= c) == y) for c in cuts)",
            ),
            Item(
                "program (2)",
                "a 0-1 ILP formulation with 2N binary decision variables",
                "int(program.binary.sum())",
                equation="2 * y.size",
                reason="t is continuous, so that the program is mixed",
            ),
            Item(
                "program (2)",
                "and 4N linear constraints",
                "program.matrix.shape[0]",
                equation="4 * y.size",
            ),
            Item(
                "program (2)",
                "0 <= t <= 1",
                "program.upper[-1]",
                printed="1",
                verdict=CORRECTED,
                reason="a score of exactly 1 would block 'flag nothing', one of exactly "
                "0 'flag all': t runs past all ranks of the scores",
            ),
            Item(
                "Eq. (3)",
                "N = 2: the program written out; score >= t when t exceeds it by epsilon",
                "two_cases.lower[4:6] - [1, 0]",
                equation="[0.5, 0.5]",
                reason="epsilon is a half on the scale of ranks; as a small number it "
                "would have to be below every gap between scores and above the "
                "tolerance of the solver",
            ),
            Item(
                "Eq. (4)",
                "minimize w x subject to A x >= b, A of 8 x 5",
                "two_cases.matrix.shape",
                printed="8, 5",
                equation="(8, 5)",
                reason='`two_cases.write("x.lp")` hands it to any solver',
            ),
            Item(
                "Table 1",
                "seconds of the ILP and of exhaustive search, 39 rows",
                'trueness.best_threshold(t, "accuracy", method="milp").value',
                equation="best.value",
                reason="all rows below; the paper's ILP seconds cannot be those of the "
                "literal program",
            ),
        ),
    ),
    Section(
        "Recall, weighted sums and precision",
        (
            Item(
                "recall",
                "recall = TP / (TP + FN) = TP / # class 1",
                'trueness.at_threshold(t, 0.5)["recall"].value',
                equation="np.sum((score >= 0.5) & (y == 1)) / np.sum(y == 1)",
            ),
            Item(
                "Eq. (5)",
                "max the sum of y times label subject to the threshold rule",
                'trueness.best_threshold(t, "recall", "flagged <= 4", "milp").value',
                equation="1",
                verdict=CORRECTED,
                reason="as printed t = 0 flags every case and is always optimal, with "
                "recall 1; the question needs a constraint, here at most 4 flagged",
            ),
            Item(
                "objective of (6)",
                "max alpha accuracy + beta recall",
                'trueness.best_threshold(t, mixed, method="milp").value',
                equation="max(0.7 * np.mean((score >= c) == y) "
                "+ 0.3 * np.mean(score[y == 1] >= c) for c in cuts)",
            ),
            Item(
                "Eq. (6)",
                "minimize the sum of alpha z - beta y label",
                "weighted.factor * weighted.weights[[0, 12]]",
                equation="[-0.7, 0.3]",
                verdict=CORRECTED,
                reason="the weights are alpha / N and beta / P; the printed ones optimise "
                "another metric in one case of six. Its third row must read "
                "score (1 - label) < t",
            ),
            Item(
                "precision",
                "precision = TP / (TP + FP) = TP / # class 1",
                'trueness.at_threshold(t, 0.5)["precision"].value',
                equation="np.sum((score >= 0.5) & (y == 1)) / np.sum(y == 1)",
                verdict=CORRECTED,
                reason="the denominator is the number predicted positive, 7, and not "
                "that of class 1",
            ),
            Item(
                "precision",
                "max of (sum of y label) / (sum of label)",
                'trueness.best_threshold(t, "precision", "recall >= 0.6", "milp").value',
                equation="max(np.mean(y[score >= c]) for c in cuts[:-1] "
                "if np.mean(score[y == 1] >= c) >= 0.6)",
                reason="a quotient: a sequence of linear programs (Dinkelbach 1967)",
            ),
            Item(
                "optimum",
                "an optimal threshold is a real value between 0 and 1",
                "best.score_range",
                verdict=CORRECTED,
                reason="an interval (low, high] of scores, and often several "
                "(`best.score_ranges`)",
            ),
            Item(
                "C++",
                "ILP (C++), Exhaustive Search (C++)",
                verdict=LEFT_OUT,
                reason="the paper gives no code, and seconds of another machine cannot "
                "be compared with ours",
            ),
        ),
    ),
)

HEAD = (
    "cases",
    "decimals",
    "ILP (Python)",
    "exhaustive (Python)",
    "ILP (C++)",
    "exhaustive (C++)",
    "ours: two binaries a case",
    "ours: one binary a score",
    "ours: exhaustive",
    "ours: sweep",
    "answers equal",
)
FIELDS = (
    "paper_ilp_python_s",
    "paper_exhaustive_python_s",
    "paper_ilp_cpp_s",
    "paper_exhaustive_cpp_s",
    "per_case_milp_s",
    "per_score_milp_s",
    "exhaustive_s",
    "sweep_s",
)


def table_1() -> Iterator[str]:
    """Yield Table 1: the paper's seconds, then ours."""
    results = json.loads(RESULTS.read_text())
    yield f"Seconds; ours on {results['machine']} ({results['date']})."
    yield ""
    rows = [
        [
            f"{row['cases']:,}",
            str(row["decimals"]),
            *(row[field] for field in FIELDS),
            "yes" if row["all_equal"] else "no",
        ]
        for row in results["rows"]
    ]
    yield from table(HEAD, rows)


PAPER = Paper(
    name="ramazi",
    setup=SETUP,
    sections=SECTIONS,
    tables=lambda: {"Table 1, all rows": [*table_1()]},
)
