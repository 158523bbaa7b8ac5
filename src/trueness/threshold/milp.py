r"""Which cut does a 0-1 program choose, and what does its solver certify?

The program of Ramazi and Mari Oriyad in two formulations, solved by HiGHS.

Per case (their eqs. 1 to 6): a binary :math:`\tilde y_i` says whether case i is
flagged, :math:`z_i` whether it is wrong, t is the threshold: 2N binaries, 4N rows.

Per distinct score: a binary :math:`x_j` says whether the cases with the j-th highest
score are flagged, :math:`x_j \ge x_{j+1}`, with counts as weights. It needs neither t
nor a smallest gap, and for a linear objective without constraints its relaxation is
integral already.

Objectives and constraints may be linear in the counts (accuracy, recall, cost) or
quotients of linear functions (precision, F-beta, kappa, lift). Quotients are maximised
by Dinkelbach's method: maximise ``over - value * under`` until it cannot be positive.
All coefficients are whole numbers, and what the solver returns is checked in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.records import Record
from trueness._core.search import largest_quotient
from trueness.metrics.algebra import Constraint, Metric
from trueness.threshold import limits
from trueness.threshold.cuts import Cuts
from trueness.threshold.limits import Form

# beyond this many cases two binaries a case take the solver hours
MOST_CASES = 20_000
_PROVED_INFEASIBLE = 2  # status of scipy.optimize.milp


@final
@dataclass(frozen=True, repr=False)
class Certificate(Record):
    """What does the solver say about its answer?

    Attributes
    ----------
    solver, formulation, status : str
        The solver, the formulation that it solved, and the status that it returned.
    value, bound : float
        The objective (to be maximised) at the chosen threshold, in exact arithmetic,
        and the upper bound on it that the solver proved.
    gap : float
        The relative gap that the solver left between value and bound.
    nodes, binaries, rows : int
        Size of the search and of the program.
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


class Program(NamedTuple):
    """A 0-1 program without its objective.

    ``flag`` has a row for tp and one for fp: the counts as functions of the variables.
    ``first`` is, for each distinct score, a variable that says whether it is flagged.
    """

    name: str
    flag: Any
    wrong: Any  # fp + fn as a function of the variables, where there are z
    matrix: Any
    low: Array
    integral: Array
    most: Array
    first: Ints

    def cut(self, x: Array) -> int:
        """Read the number of flagged scores from a solution."""
        return int((x[self.first] > 0.5).sum())

    def forbid(self, k: int) -> tuple[Array, float]:
        """Give a row and its upper bound that exclude cut k.

        Its last score is flagged and the next one is not.
        """
        row = np.zeros(self.most.size)
        row[self.first[k - 1 : k]] = 1.0
        row[self.first[k : k + 1]] = -1.0
        return row, 0.0 if k else -1.0


_REFUSAL = (
    "A 0-1 program needs metrics that are linear in the counts, or one quotient of "
    'linear functions (precision, f1, kappa); {} is not. Type method="sweep", which '
    "is exact for every metric."
)


def per_score(cuts: Cuts) -> Program:
    """One binary a distinct score: x_1 >= x_2 >= ... with counts as weights."""
    from scipy import sparse

    m = len(cuts.score)
    pos, neg = np.diff(cuts.units.tp), np.diff(cuts.units.fp)
    eye = sparse.eye_array(m, format="csr")
    return Program(
        name="a binary per distinct score",
        flag=np.vstack([pos, neg]),
        wrong=None,
        matrix=eye[:-1] - eye[1:],
        low=np.zeros(m - 1),
        integral=np.ones(m),
        most=np.ones(m),
        first=np.arange(m),
    )


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
    empty = np.zeros(n)
    return Program(
        name="two binaries per case",
        flag=np.vstack([np.r_[empty, label, 0], np.r_[empty, 1 - label, 0]]),
        wrong=np.r_[np.ones(n), empty, 0],
        matrix=sparse.block_array(blocks).tocsr(),
        low=low,
        integral=np.r_[np.ones(2 * n), 0],
        most=np.r_[np.ones(2 * n), float(m)],
        first=n + np.cumsum(pos + neg) - (pos + neg),
    )


class Solved(NamedTuple):
    """A chosen cut, and the solver's last word on a linear objective."""

    cut: int
    bound: float
    gap: float
    nodes: int
    status: str


def _quotient(metric: Metric, cuts: Cuts) -> limits.Quotient:
    """Write a metric as a quotient in the smallest whole numbers, if it is one."""
    q = limits.quotient(metric, cuts, limits.ONE_CUT, _REFUSAL)
    both = limits.whole(np.concatenate(q))
    return limits.Quotient(*np.split(both // math.gcd(*both), 2))


def _at(form: Form, cuts: Cuts, k: int) -> Any:
    return limits.at(form, int(cuts.units.tp[k]), int(cuts.units.fp[k]))


def maximise(
    program: Program, cuts: Cuts, metric: Metric, constraints: tuple[Constraint, ...]
) -> tuple[Ints, Certificate]:
    """Find an optimal cut and its certificate."""
    over, under = _quotient(metric, cuts)
    rows = [
        r for c in constraints for r in limits.rows_of(c, _quotient(c.metric, cuts))
    ]

    def ratio(s: Solved) -> Fraction:
        return Fraction(_at(over, cuts, s.cut), _at(under, cuts, s.cut))

    if limits.fixed(under):
        solved = _solve(program, cuts, over, rows)
        bound, steps = Fraction(solved.bound) / under[-1], 1
    else:
        rows.append(limits.above_zero(under))
        value, solved, last, steps = largest_quotient(
            lambda q: _solve(program, cuts, over * q.denominator - under * q.numerator,
                             rows), ratio)  # fmt: skip
        # the solver's bound on the lead, over the smallest possible denominator
        bound = value + Fraction(max(0.0, last.bound)) / value.denominator
        solved = solved._replace(gap=last.gap)
    certificate = Certificate(
        solver="HiGHS",
        formulation=program.name,
        status=solved.status,
        value=float(ratio(solved)),
        bound=float(bound),
        gap=solved.gap,
        nodes=solved.nodes,
        binaries=int(program.integral.sum()),
        rows=program.matrix.shape[0] + len(rows),
        iterations=steps,
    )
    return np.array([solved.cut]), certificate


def _solve(program: Program, cuts: Cuts, objective: Form, rows: list[Form]) -> Solved:
    """Maximise a linear function; excludes cuts that only rounding lets through.

    HiGHS keeps a row to within 1e-6, so that a cut which misses a bound by less passes
    for allowed. Its answer is checked in whole numbers; a cut that fails is forbidden
    by a row of its own, and the program is solved again. The solver's bound stays a
    proof throughout: rows with a tolerance allow more than the true ones.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    held = [LinearConstraint(program.matrix, program.low)] if len(program.low) else []
    for row in rows:
        # without their common divisor the solver's absolute tolerances mean something;
        # floor: on whole numbers a*tp + b*fp >= -c holds exactly when rounded, too
        a, b, c = map(float, row // (math.gcd(*row[:-1]) or 1))
        held.append(LinearConstraint(a * program.flag[0] + b * program.flag[1], -c))
    # Dinkelbach's weights are products of counts, 10^12 and more
    unit = math.gcd(*objective[:-1]) or 1
    weights, constant = _weights(program, cuts, objective, unit)
    while True:
        result = milp(
            -weights,
            integrality=program.integral,
            bounds=Bounds(0, program.most),
            constraints=held,
            options={"mip_rel_gap": 0.0},
        )
        if result.status == _PROVED_INFEASIBLE:
            raise Infeasible("HiGHS proves that no threshold meets the constraints.")
        if result.x is None:
            raise RuntimeError(f"HiGHS found no threshold: {result.message}")
        cut = program.cut(result.x)
        if all(_at(r, cuts, cut) >= 0 for r in rows):
            break
        values, most = program.forbid(cut)
        held.append(LinearConstraint(values, -np.inf, most))
    proof = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
    return Solved(
        cut,
        constant - unit * float(proof),
        float(result.mip_gap or 0.0),
        int(result.mip_node_count or 0),
        result.message.split("(")[0].strip().rstrip("."),
    )


def _weights(program: Program, cuts: Cuts, f: Form, unit: int) -> tuple[Array, float]:
    """Write ``a tp + b fp``, in units, in the variables of the program.

    Where there are z, the errors are counted by them (Ramazi, eqs. 1 and 6): with
    fp = errors - n_pos + tp. That needs b <= 0, since the rows bound z from below only.
    The second answer is what is left out, not in units.
    """
    a, b = (float(w // unit) for w in f[:-1])
    if program.wrong is None or b > 0:
        return a * program.flag[0] + b * program.flag[1], float(f[-1])
    # Differs from eq. (6): its weights alpha and beta should be alpha/N and beta/P,
    # which is what the coefficients of the metric are
    weights = (a + b) * program.flag[0] + b * program.wrong
    return weights, float(f[-1] - f[1] * cuts.n_pos)
