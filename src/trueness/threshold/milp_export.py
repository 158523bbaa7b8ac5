r"""The 0-1 program for the best threshold, as matrices and as a file.

.. math:: \max w x \quad\text{subject to}\quad A x \ge b, \qquad 0 \le x \le u

Ramazi and Mari Oriyad, "Optimal accuracy threshold using 0-1 ILP formulation", eq. (4).
Solvers read the file: the format is CPLEX LP.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness._core.records import Record
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import ConstraintLike, read_objective
from trueness.threshold.linear_forms import LinearForm, constraint_rows
from trueness.threshold.milp import (
    Program,
    objective_of_program,
    per_case,
    per_score,
    quotient_in_whole_numbers,
)

FORMULATIONS = {"score": per_score, "case": per_case}
# a line of an LP file holds 510 characters in older solvers
TERMS_OF_A_LINE = 8


@final
@dataclass(frozen=True, repr=False)
class MilpProgram(Record):
    r"""0-1 program for the best threshold: maximise w x subject to A x >= b.

    Attributes
    ----------
    weights : array (n,)
        w, the weight of each variable in the objective.
    matrix : sparse array (rows, n)
        A, the rows of the program and one for each constraint.
    lower : array (rows,)
        b, the number that each row must reach.
    upper : array (n,)
        u, the largest value of each variable; the smallest is 0.
    binary : array (n,) of bool
        Which variables are 0 or 1. The others are real numbers.
    names : tuple of str
        The variables: z and y of each case and the threshold t (on the scale of ranks)
        with ``variables_per="case"``; x of each distinct score with ``"score"``.
    factor, constant : float
        What is maximised is ``constant + factor * (w x)``.
    objective : str
        The objective: "maximize accuracy". For a metric to be minimised, the program
        maximises its negative.
    """

    weights: Floats
    matrix: Any
    lower: Floats
    upper: Floats
    binary: Array
    names: tuple[str, ...]
    factor: float
    constant: float
    objective: str

    def __repr__(self) -> str:
        """Say how large the program is."""
        rows, variables = self.matrix.shape
        return (
            f"MilpProgram: {self.objective}; {variables:,} variables, "
            f"{int(self.binary.sum()):,} of them binary, {rows:,} rows"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the program in CPLEX LP format, for any solver."""
        file = _options.file_path(path, "write")
        with replacing(file) as temporary, temporary.open("w") as stream:
            for line in _lp_lines(self):
                stream.write(line + "\n")


@of_tally
def milp_program(
    data: Tally,
    maximize: str | Metric = "accuracy",
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    variables_per: str = "score",
) -> MilpProgram:
    r"""0-1 program (integer linear program) for the best threshold.

    What does ``best_threshold(method="milp")`` pass to its solver? The matrices of
    Ramazi and Mari Oriyad, eq. (4), or a file in CPLEX LP format by ``.write("x.lp")``.

    Parameters
    ----------
    data
        Scores and labels of one classifier.
    maximize, minimize
        A metric that is linear in the counts: accuracy, recall,
        "0.7*accuracy + 0.3*recall", ``trueness.cost(fp=1, fn=5)``.
    subject_to
        Constraints: "recall >= 0.9", "flagged <= 500", "precision >= 0.5".
    variables_per
        "score": one binary variable for each distinct score. "case": two for each case
        and the threshold, as in the paper, eqs. (1) to (4).

    Notes
    -----
    Differs from eq. (3): scores are replaced by their ranks, so that epsilon is a half
    and a score of exactly 0 or 1 blocks nothing. Differs from eq. (6), whose weights
    should be alpha / N and beta / P. A quotient such as F1 is not a linear program:
    ``best_threshold`` solves a sequence of them (Dinkelbach 1967).

    Examples
    --------
    >>> t = Tally([0.8, 0.3], pos=[1, 0], neg=[0, 1])
    >>> milp_program(t, variables_per="case")
    MilpProgram: maximize accuracy; 5 variables, 4 of them binary, 8 rows
    """
    _options.choice(variables_per, FORMULATIONS, "variables_per")
    objective = read_objective(maximize, minimize)
    cuts = _cuts.all_cuts(data, None, "milp_program")
    quotient = quotient_in_whole_numbers(objective.maximized, cuts)
    if not quotient.is_linear:
        raise InputError(
            "A 0-1 program needs an objective that is linear in the counts; "
            f"{objective} is a quotient. Use best_threshold with the method milp, "
            "which solves a sequence of programs.",
            option="maximize",
            choices=("accuracy", "recall", "cost(fp=1, fn=5)"),
        )

    program = FORMULATIONS[variables_per](cuts)
    form = quotient.numerator
    weighted = objective_of_program(program, cuts, form)
    rows = []
    for constraint in read_constraints(subject_to):
        quotient_of_constraint = quotient_in_whole_numbers(constraint.metric, cuts)
        rows += constraint_rows(constraint, quotient_of_constraint)

    matrix, lower = _with_constraints(program, rows)
    divisor = weighted.scale * int(quotient.denominator[-1])
    return MilpProgram(
        weights=weighted.weights,
        matrix=matrix,
        lower=lower,
        upper=program.upper,
        binary=program.integral > 0,
        names=_variable_names(program, variables_per),
        factor=weighted.unit / divisor,
        constant=weighted.constant / divisor,
        objective=str(objective),
    )


def _with_constraints(
    program: Program, rows: Iterable[LinearForm]
) -> tuple[Any, Floats]:
    """Return A (sparse) and b: the rows of the program, then one for each constraint.

    A constraint ``a tp + b fp + c >= 0`` is a row with the bound ``-c``.
    """
    from scipy import sparse

    matrices = [sparse.csr_array(program.matrix)]
    bounds = [program.lower]
    for row in rows:
        weight_tp, weight_fp, constant = map(float, row)
        # a TP + b FP + c >= 0
        weights_of_variables = weight_tp * program.tp + weight_fp * program.fp
        matrices.append(sparse.csr_array(weights_of_variables[None, :]))
        bounds.append(np.array([-constant]))

    return sparse.vstack(matrices, format="csr"), np.concatenate(bounds)


def _variable_names(program: Program, variables_per: str) -> tuple[str, ...]:
    """Return the names of the variables, in the letters of the paper."""
    size = program.upper.size
    if variables_per == "score":
        return tuple(f"x{place}" for place in range(1, size + 1))
    cases = range(1, (size - 1) // 2 + 1)
    wrong = [f"z{case}" for case in cases]
    flagged = [f"y{case}" for case in cases]
    return (*wrong, *flagged, "t")


def _lp_lines(program: MilpProgram) -> Iterator[str]:
    """Yield the lines of a CPLEX LP file."""
    names = program.names
    value = f"{program.constant!r} + {program.factor!r} * objective"
    yield f"\\ {program.objective}: its value is {value}"

    yield "Maximize"
    used = np.flatnonzero(program.weights)
    yield from _lp_sum("objective", program.weights[used], used, names)

    yield "Subject To"
    matrix = program.matrix
    for row, bound in enumerate(program.lower.tolist()):
        # rows of a compressed matrix lie one behind the other
        of_row = slice(matrix.indptr[row], matrix.indptr[row + 1])
        coefficients = matrix.data[of_row]
        places = matrix.indices[of_row]
        nonzero = coefficients != 0
        label = f"row{row + 1}"
        *lines, last_line = _lp_sum(
            label, coefficients[nonzero], places[nonzero], names
        )
        yield from lines
        yield f"{last_line} >= {bound!r}"

    yield "Bounds"
    for place in np.flatnonzero(~program.binary).tolist():
        yield f" 0 <= {names[place]} <= {float(program.upper[place])!r}"

    yield "Binary"
    for place in np.flatnonzero(program.binary).tolist():
        yield f" {names[place]}"
    yield "End"


def _lp_sum(
    label: str, coefficients: Floats, places: Array, names: tuple[str, ...]
) -> Iterator[str]:
    """Yield a weighted sum of variables, some terms a line."""
    terms = [
        f"{weight:+.17g} {names[place]}"
        for weight, place in zip(coefficients.tolist(), places.tolist(), strict=True)
    ]
    if not terms:
        # a sum must not be empty: the first variable counts nothing
        terms = [f"+0 {names[0]}"]

    for start in range(0, len(terms), TERMS_OF_A_LINE):
        line = " ".join(terms[start : start + TERMS_OF_A_LINE])
        yield f" {label}: {line}" if start == 0 else f"  {line}"
