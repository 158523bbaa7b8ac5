r"""Which cut does a 0-1 program choose, and what does its solver certify?

The program of Ramazi and Mari Oriyad (eqs. 1 to 6), two binaries a case, and a smaller
one, a binary per distinct score, solved by HiGHS. Quotients of linear functions are
maximised by Dinkelbach's method. All coefficients are whole numbers, and what the
solver returns is checked in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.progress import stop_if_requested
from trueness._core.records import Record
from trueness.metrics.algebra import Constraint, Metric
from trueness.threshold.cuts import Cuts
from trueness.threshold.linear_forms import (
    ONE_CUT,
    LinearForm,
    Quotient,
    at_least_one,
    constraint_rows,
    evaluate_form,
    in_whole_numbers,
    is_constant,
    maximize_quotient,
    quotient_of_metric,
)

# beyond this many cases two binaries a case take the solver hours
MOST_CASES = 20_000
_PER_SCORE = "a binary per distinct score"
_PROVED_INFEASIBLE = 2  # status of scipy.optimize.milp


@final
@dataclass(frozen=True, repr=False)
class Certificate(Record):
    """What does the solver say about its answer?

    Attributes
    ----------
    value, bound : float
        The objective (to be maximised) at the chosen threshold, in exact arithmetic,
        and the upper bound on it that the solver proved.
    gap : float
        The relative gap that the solver left between value and bound.
    iterations : int
        Programs solved: one for a linear objective, Dinkelbach's steps for a quotient.
    """

    solver: str
    formulation: str
    status: str
    value: float
    bound: float
    gap: float
    nodes: int
    binaries: int
    rows: int
    iterations: int


# A 0-1 program without its objective: the counts tp and fp as functions of the
# variables, and fp + fn where there are z; for each distinct score a variable that says
# whether it is flagged; rows and their lower ends; which variables are whole, and their
# upper ends
Program = tuple[Any, Any, Ints, Any, Any, Any, Any]

_REFUSAL = (
    "A 0-1 program needs metrics that are linear in the counts, or one quotient of "
    'linear functions (precision, f1, kappa); {} is not. Type method="sweep", which '
    "is exact for every metric."
)


def per_score(cuts: Cuts) -> Program:
    """One binary a distinct score: x_1 >= x_2 >= ... with counts as weights."""
    from scipy import sparse

    flag = np.vstack([np.diff(cuts.units.tp), np.diff(cuts.units.fp)])
    m = flag.shape[1]
    eye, one = sparse.eye_array(m, format="csr"), np.ones(m)
    return flag, None, np.arange(m), eye[:-1] - eye[1:], np.zeros(m - 1), one, one


def per_case(cuts: Cuts) -> Program:
    r"""Two binaries a case, and the threshold t: Ramazi, eqs. (1) to (4).

    Differs from eq. (3): the scores are replaced by their ranks 0, 1, 2, ... and t
    ranges from 0 to m, past all of them, so that scores of exactly 0 and 1 block
    nothing; ranks are one apart, so that a half serves as epsilon where the printed one
    would have to be below the smallest gap and above the tolerance of the solver.
    """
    from scipy import sparse

    m = len(cuts.score)
    pos, neg = np.diff(cuts.units.tp), np.diff(cuts.units.fp)
    n = int(pos.sum() + neg.sum())
    if n > MOST_CASES:
        raise InputError(
            "A program with two binary variables per case is for small data; found "
            f'{n:,} cases, at most {MOST_CASES:,} are tried. Type method="milp" (a '
            'binary variable per distinct score) or method="sweep".'
        )
    rank = np.repeat(np.arange(m)[::-1], pos + neg).astype(np.float64)
    label = np.repeat(np.tile([1.0, 0.0], m), np.column_stack([pos, neg]).ravel())
    eye, zero = sparse.eye_array(n), sparse.csr_array((n, n))
    column = np.ones((n, 1))
    blocks: Any = [
        [eye, eye, np.zeros((n, 1))],  # z + y >= label
        [eye, -eye, np.zeros((n, 1))],  # z - y >= -label
        [zero, sparse.diags_array(rank + 0.5), column],  # t > rank where y = 0
        [zero, sparse.diags_array(rank - m), -column],  # t <= rank where y = 1
    ]
    low = np.concatenate([label, -label, rank + 0.5, np.full(n, -float(m))])
    none, both = np.zeros(n), np.ones(2 * n)
    flag = np.vstack([np.r_[none, label, 0], np.r_[none, 1 - label, 0]])
    first = n + np.cumsum(pos + neg) - (pos + neg)
    matrix = sparse.block_array(blocks).tocsr()
    return (flag, np.r_[np.ones(n), none, 0], first, matrix, low, np.r_[both, 0],
            np.r_[both, float(m)])  # fmt: skip


Solved = tuple[int, float, Any]  # a chosen cut, a proved bound, the solver's last word


def _quotient(metric: Metric, cuts: Cuts) -> Quotient:
    """Write a metric as a quotient in the smallest whole numbers, if it is one."""
    both = in_whole_numbers(
        np.concatenate(quotient_of_metric(metric, cuts, ONE_CUT, _REFUSAL))
    )
    over, under = np.split(both // math.gcd(*both), 2)
    return Quotient(over, under)


def _at(form: LinearForm, cuts: Cuts, k: int) -> Any:
    return evaluate_form(form, int(cuts.units.tp[k]), int(cuts.units.fp[k]))


def maximise(
    cuts: Cuts, metric: Metric, constraints: tuple[Constraint, ...], each_case: bool
) -> tuple[Ints, Certificate]:
    """Find an optimal cut and its certificate."""
    program = per_case(cuts) if each_case else per_score(cuts)
    goal = _quotient(metric, cuts)
    rows = [
        r for c in constraints for r in constraint_rows(c, _quotient(c.metric, cuts))
    ]
    linear = is_constant(goal[1])
    rows += [] if linear else [at_least_one(goal[1])]

    value, (cut, _, solved), (_, bound, last), steps = maximize_quotient(
        goal,
        lambda f: _solve(program, cuts, f, rows),
        lambda s: Fraction(*(_at(f, cuts, s[0]) for f in goal)),
    )
    # the bound on the lead of a quotient, over a denominator of one or more
    lead = bound / goal[1][-1] if linear else value + max(0.0, bound)
    certificate = Certificate(
        solver="HiGHS",
        formulation="two binaries per case" if each_case else _PER_SCORE,
        status=solved.message.split("(")[0].strip().rstrip("."),
        value=float(value),
        bound=float(lead),
        gap=float(last.mip_gap or 0.0),
        nodes=int(solved.mip_node_count or 0),
        binaries=int(program[5].sum()),
        rows=program[3].shape[0] + len(rows),
        iterations=steps,
    )
    return np.array([cut]), certificate


def _solve(
    program: Program, cuts: Cuts, objective: LinearForm, rows: list[LinearForm]
) -> Solved:
    """Maximise a linear function; excludes cuts that only rounding lets through.

    HiGHS keeps a row to within 1e-6, so that a cut which misses a bound by less passes
    for allowed. Its answer is checked in whole numbers; a cut that fails is forbidden
    by a row of its own, and the program is solved again. The solver's bound stays a
    proof throughout: rows with a tolerance allow more than the true ones.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    (tp, fp), wrong, first, matrix, low, integral, most = program
    held = [LinearConstraint(matrix, low)] if len(low) else []
    for row in rows:
        # without their common divisor the solver's absolute tolerances mean something;
        # floor: on whole numbers a*tp + b*fp >= -c holds exactly when rounded, too
        a, b, c = map(float, row // (math.gcd(*row[:-1]) or 1))
        held.append(LinearConstraint(a * tp + b * fp, -c))
    scale = math.lcm(*(w.denominator for w in objective))
    objective = in_whole_numbers(objective)
    # Dinkelbach's weights are products of counts, 10^12 and more
    unit = math.gcd(*objective[:-1]) or 1
    a, b = (float(w // unit) for w in objective[:-1])
    weights, constant = a * tp + b * fp, float(objective[-1])
    if wrong is not None and b <= 0:
        # z counts the errors (Ramazi, eqs. 1 and 6): fp = errors - n_pos + tp. The rows
        # bound z from below only, so that this needs b <= 0. Differs from eq. (6): its
        # weights alpha and beta should be alpha/N and beta/P, as in the metric
        weights = (a + b) * tp + b * wrong
        constant = float(objective[-1] - objective[1] * cuts.n_pos)
    while True:
        stop_if_requested()
        result = milp(
            -weights,
            integrality=integral,
            bounds=Bounds(0, most),
            constraints=held,
            options={"mip_rel_gap": 0.0},
        )
        if result.status == _PROVED_INFEASIBLE:
            raise Infeasible("HiGHS proves that no threshold meets the constraints.")
        if result.x is None:
            raise RuntimeError(f"HiGHS found no threshold: {result.message}")
        k = int((result.x[first] > 0.5).sum())
        if all(_at(r, cuts, k) >= 0 for r in rows):
            break
        # forbid that the last score of this cut is flagged and the next one is not
        only = np.zeros(most.size)
        only[first[k - 1 : k]], only[first[k : k + 1]] = 1.0, -1.0
        held.append(LinearConstraint(only, -np.inf, 0.0 if k else -1.0))
    proof = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
    return k, (constant - unit * float(proof)) / scale, result
