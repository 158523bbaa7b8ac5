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
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import Infeasible, InputError
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
    maximize_quotient,
    quotient_of_metric,
)

# beyond this many cases two binaries a case take the solver hours
MOST_CASES = 20_000
_PROVED_INFEASIBLE = 2  # status of scipy.optimize.milp

_REFUSAL = (
    "A 0-1 program needs metrics that are linear in the counts, or one quotient of "
    "linear functions (precision, f1, kappa); {} is not. The method sweep is exact "
    "for every metric."
)


@final
@dataclass(frozen=True, repr=False)
class Certificate(Record):
    """What the solver certifies about its answer.

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


@dataclass(frozen=True)
class Program:
    """A 0-1 program without its objective.

    Attributes
    ----------
    tp, fp
        The counts of true and false positives, as weights of the variables.
    errors
        Their sum with the false negatives, where variables count errors; else None.
    flags
        For each distinct score, a variable that says whether it is flagged.
    matrix, lower
        Rows, and the numbers that they must reach.
    integral, upper
        Which variables are whole numbers, and the largest value of each.
    """

    tp: Floats | Ints
    fp: Floats | Ints
    errors: Floats | None
    flags: Ints
    matrix: Any
    lower: Floats
    integral: Any
    upper: Floats


def per_score(cuts: Cuts) -> Program:
    """Return a program with one binary a distinct score: x_1 >= x_2 >= ..."""
    from scipy import sparse

    tp = np.diff(cuts.units.tp)
    fp = np.diff(cuts.units.fp)
    size = tp.size
    identity = sparse.eye_array(size, format="csr")
    # what a lower score flags, a higher one flags too: x_k - x_(k+1) >= 0
    return Program(
        tp=tp,
        fp=fp,
        errors=None,
        flags=np.arange(size),
        matrix=identity[:-1] - identity[1:],
        lower=np.zeros(size - 1),
        integral=np.ones(size),
        upper=np.ones(size),
    )


def per_case(cuts: Cuts) -> Program:
    r"""Return a program with two binaries a case, and the threshold t.

    Ramazi, eqs. (1) to (4): y says whether a case is flagged, z whether that is wrong.

    Differs from eq. (3): the scores are replaced by their ranks 0, 1, 2, ... and t
    ranges from 0 to m, past all of them, so that scores of exactly 0 and 1 block
    nothing; ranks are one apart, so that a half serves as epsilon where the printed one
    would have to be below the smallest gap and above the tolerance of the solver.
    """
    from scipy import sparse

    m = len(cuts.score)
    pos = np.diff(cuts.units.tp)
    neg = np.diff(cuts.units.fp)
    cases = pos + neg
    n = int(pos.sum() + neg.sum())
    if n > MOST_CASES:
        raise InputError(
            "A program with two binary variables per case takes at most "
            f"{MOST_CASES:,} cases; found {n:,}. Use the method milp, with one binary "
            "variable per distinct score.",
            option="method",
            choices=("milp", "sweep"),
        )

    rank = np.repeat(np.arange(m)[::-1], cases).astype(np.float64)
    # of each score the positives first, then the negatives
    label = np.repeat(np.tile([1.0, 0.0], m), np.column_stack([pos, neg]).ravel())

    # the variables are z and y of all cases, then t
    identity = sparse.eye_array(n)
    zero = sparse.csr_array((n, n))
    column = np.ones((n, 1))
    no_t = np.zeros((n, 1))
    rows: list[list[Any]] = [
        [identity, identity, no_t],  # z + y >= label
        [identity, -identity, no_t],  # z - y >= -label
        [zero, sparse.diags_array(rank + 0.5), column],  # t > rank where y = 0
        [zero, sparse.diags_array(rank - m), -column],  # t <= rank where y = 1
    ]
    lower = np.concatenate([label, -label, rank + 0.5, np.full(n, -float(m))])

    no_z = np.zeros(n)
    no_y = np.zeros(n)
    first_case_of_score = np.cumsum(cases) - cases
    return Program(
        tp=np.concatenate([no_z, label, [0]]),
        fp=np.concatenate([no_z, 1 - label, [0]]),
        errors=np.concatenate([np.ones(n), no_y, [0]]),
        flags=n + first_case_of_score,
        matrix=sparse.block_array(rows).tocsr(),
        lower=lower,
        integral=np.concatenate([np.ones(2 * n), [0]]),
        upper=np.concatenate([np.ones(2 * n), [float(m)]]),
    )


class Solution(NamedTuple):
    """A chosen cut, a proved bound on the objective, and the answer of the solver."""

    cut: int
    bound: float
    answer: Any


def maximise(
    cuts: Cuts, metric: Metric, constraints: tuple[Constraint, ...], each_case: bool
) -> tuple[Ints, Certificate]:
    """Return an optimal cut and its certificate."""
    if each_case:
        program = per_case(cuts)
        formulation = "two binaries per case"
    else:
        program = per_score(cuts)
        formulation = "a binary per distinct score"

    goal = quotient_in_whole_numbers(metric, cuts)
    rows = []
    for constraint in constraints:
        bounded = quotient_in_whole_numbers(constraint.metric, cuts)
        rows += constraint_rows(constraint, bounded)
    if not goal.is_linear:
        # a quotient needs a denominator above 0; whole numbers above 0 are 1 or more
        rows.append(at_least_one(goal.denominator))

    def maximize_form(form: LinearForm) -> Solution:
        return _solve(program, cuts, form, rows)

    def value_of(solution: Solution) -> Fraction:
        numerator = _evaluate_at(goal.numerator, cuts, solution.cut)
        return Fraction(numerator, _evaluate_at(goal.denominator, cuts, solution.cut))

    best = maximize_quotient(goal, maximize_form, value_of)
    if goal.is_linear:
        bound = best.proof.bound / goal.denominator[-1]
    else:
        # the bound on a - q b, over a denominator of one or more
        bound = best.value + max(0.0, best.proof.bound)

    answer = best.solution.answer
    certificate = Certificate(
        solver="HiGHS",
        formulation=formulation,
        status=answer.message.split("(")[0].strip().rstrip("."),
        value=float(best.value),
        bound=float(bound),
        gap=float(best.proof.answer.mip_gap or 0.0),
        nodes=int(answer.mip_node_count or 0),
        binaries=int(program.integral.sum()),
        rows=program.matrix.shape[0] + len(rows),
        iterations=best.searches,
    )
    return np.array([best.solution.cut]), certificate


def quotient_in_whole_numbers(metric: Metric, cuts: Cuts) -> Quotient:
    """Return a metric as a quotient in the smallest whole numbers, if it is one."""
    quotient = quotient_of_metric(metric, cuts, ONE_CUT, _REFUSAL)
    # numerator and denominator by one common factor, which leaves the quotient
    coefficients = in_whole_numbers(np.concatenate(quotient))
    numerator, denominator = np.split(coefficients // math.gcd(*coefficients), 2)
    return Quotient(numerator, denominator)


def _evaluate_at(form: LinearForm, cuts: Cuts, cut: int) -> Any:
    return evaluate_form(form, int(cuts.units.tp[cut]), int(cuts.units.fp[cut]))


def _row_that_forbids(program: Program, cut: int) -> Any:
    """Return the row: not flag the last score of this cut without the next one."""
    from scipy.optimize import LinearConstraint

    only_this_cut = np.zeros(program.upper.size)
    only_this_cut[program.flags[cut - 1 : cut]] = 1.0
    only_this_cut[program.flags[cut : cut + 1]] = -1.0
    # the cut that flags nothing has no last score: the next one must be flagged
    largest = 0.0 if cut else -1.0
    return LinearConstraint(only_this_cut, -np.inf, largest)


def _solve(
    program: Program, cuts: Cuts, form: LinearForm, rows: list[LinearForm]
) -> Solution:
    """Return the cut that maximises a linear form, with the bound of the solver.

    HiGHS keeps a row to within 1e-6, so that a cut which misses a bound by less passes
    for allowed. Its answer is checked in whole numbers; a cut that fails is forbidden
    by a row of its own, and the program is solved again. The solver's bound stays a
    proof throughout: rows with a tolerance allow more than the true ones.
    """
    from scipy.optimize import Bounds, milp

    objective = objective_of_program(program, cuts, form)
    program_rows = _program_rows(program, rows)
    while True:
        answer = milp(
            -objective.weights,
            integrality=program.integral,
            bounds=Bounds(0, program.upper),
            constraints=program_rows,
            options={"mip_rel_gap": 0.0},
        )
        if answer.status == _PROVED_INFEASIBLE:
            raise Infeasible(
                "HiGHS proves that no threshold meets the constraints.",
                option="subject_to",
            )
        if answer.x is None:
            raise RuntimeError(f"HiGHS found no threshold: {answer.message}")

        # binaries are whole to within a tolerance
        cut = int((answer.x[program.flags] > 0.5).sum())
        if all(_evaluate_at(row, cuts, cut) >= 0 for row in rows):
            break
        program_rows.append(_row_that_forbids(program, cut))

    proved = answer.fun if answer.mip_dual_bound is None else answer.mip_dual_bound
    # the program minimises the negative of its scaled objective
    bound = objective.constant - objective.unit * float(proved)
    return Solution(cut, bound / objective.scale, answer)


def _program_rows(program: Program, rows: list[LinearForm]) -> list[Any]:
    """Return the rows of the program, and those that constraints add."""
    from scipy.optimize import LinearConstraint

    program_rows = []
    if len(program.lower):
        program_rows.append(LinearConstraint(program.matrix, program.lower))
    for row in rows:
        # without their common divisor the solver's absolute tolerances mean something;
        # floor: on whole numbers a*tp + b*fp >= -c holds exactly when rounded, too
        divisor = math.gcd(*row[:-1]) or 1
        weight_tp, weight_fp, constant = map(float, row // divisor)
        program_rows.append(
            LinearConstraint(weight_tp * program.tp + weight_fp * program.fp, -constant)
        )

    return program_rows


class ProgramObjective(NamedTuple):
    """Weights of the variables: the form is (constant + unit * weights x) / scale."""

    weights: Floats
    constant: float
    unit: int
    scale: int


def objective_of_program(
    program: Program, cuts: Cuts, form: LinearForm
) -> ProgramObjective:
    """Return a linear form of the counts as weights of the variables."""
    scale = math.lcm(*(weight.denominator for weight in form))
    weight_tp, weight_fp, constant = in_whole_numbers(form)
    # Dinkelbach's weights are products of counts, 10^12 and more
    unit = math.gcd(weight_tp, weight_fp) or 1
    weight_tp_in_units = float(weight_tp // unit)
    weight_fp_in_units = float(weight_fp // unit)
    if program.errors is None or weight_fp_in_units > 0:
        weights = weight_tp_in_units * program.tp + weight_fp_in_units * program.fp
        return ProgramObjective(weights, float(constant), unit, scale)

    # z counts the errors (Ramazi, eqs. 1 and 6): fp = errors - n_pos + tp. The rows
    # bound z from below only, so that this needs b <= 0. Differs from eq. (6): its
    # weights alpha and beta should be alpha/N and beta/P, as in the metric
    weights = (
        weight_tp_in_units + weight_fp_in_units
    ) * program.tp + weight_fp_in_units * program.errors
    without_positives = float(constant - weight_fp * cuts.n_pos)
    return ProgramObjective(weights, without_positives, unit, scale)
