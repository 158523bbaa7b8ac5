"""The 0-1 program as matrices and as a file that another solver reads."""

import numpy as np
import pytest

import trueness
from trueness._core.checks.errors import UnsupportedDesign


def optimum_by_highs(path):
    """Let HiGHS read the file and return its optimum."""
    highs = pytest.importorskip("scipy.optimize._highspy._core")
    solver = highs._Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(path))
    solver.run()
    return solver.getInfo().objective_function_value


def test_two_cases_give_the_matrix_of_the_paper():
    """Ramazi and Mari Oriyad, eqs (3), (4); scores 0.3, 0.8 are the ranks 0 and 1."""
    tally = trueness.tally([1, 0], [0.8, 0.3])
    program = trueness.milp_program(tally, variables_per="case")

    assert program.names == ("z1", "z2", "y1", "y2", "t")
    assert program.matrix.toarray().tolist() == [
        [1, 0, 1, 0, 0],
        [0, 1, 0, 1, 0],
        [1, 0, -1, 0, 0],
        [0, 1, 0, -1, 0],
        [0, 0, 1.5, 0, 1],
        [0, 0, 0, 0.5, 1],
        [0, 0, -1, 0, -1],
        [0, 0, 0, -2, -1],
    ]
    assert program.lower.tolist() == [1, 0, -1, 0, 1.5, 0.5, -2, -2]
    assert program.weights.tolist() == [-1, -1, 0, 0, 0]


@pytest.mark.parametrize("variables_per", ["score", "case"])
@pytest.mark.parametrize(
    ("maximize", "subject_to"),
    [
        ("accuracy", []),
        ("0.7*accuracy + 0.3*recall", []),
        ("recall", ["flagged <= 12"]),
        ("accuracy", ["precision >= 0.6", "recall >= 0.5"]),
    ],
)
def test_another_solver_reads_the_file(
    tmp_path, rng, variables_per, maximize, subject_to
):
    label = rng.random(40) < 0.4
    score = np.round(rng.normal(size=40) + label, 1)
    tally = trueness.tally(label, score)
    best = trueness.best_threshold(tally, maximize, subject_to).value

    program = trueness.milp_program(
        tally, maximize, subject_to, variables_per=variables_per
    )
    program.write(tmp_path / "x.lp")

    optimum = optimum_by_highs(tmp_path / "x.lp")

    assert program.constant + program.factor * optimum == pytest.approx(best)


def test_a_quotient_is_no_linear_program():
    tally = trueness.tally([1, 0, 1], [0.8, 0.3, 0.2])
    with pytest.raises(trueness.InputError, match="linear in the counts"):
        trueness.milp_program(tally, "f1")


def test_weights_are_refused():
    tally = trueness.tally([1, 0, 1], [0.8, 0.3, 0.2], weight=[1.0, 2.0, 0.5])
    with pytest.raises(UnsupportedDesign, match="the method sweep"):
        trueness.milp_program(tally)
