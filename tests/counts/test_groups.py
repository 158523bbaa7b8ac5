"""Groups of several columns: by hand, and against counts of each part."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueness
from trueness.counts.groups import Group, each_column_alone


@pytest.fixture
def frame():
    """Cases of two sexes and three origins."""
    draw = np.random.default_rng(3)
    n = 240
    label = draw.integers(0, 2, n)
    return pd.DataFrame(
        {
            "y": label,
            "p": np.round(draw.normal(label), 1),
            "sex": draw.choice(["f", "m"], n),
            "origin": draw.choice([1, 2, 3], n),
        }
    )


WORDS = {"label": "y", "score": "p", "by": ["sex", "origin"]}


class TestSeveralColumns:
    def test_of_a_tally_are_a_partition(self, frame):
        groups = trueness.tally(frame, **WORDS)

        assert sum(groups.values(), trueness.Tally()) == trueness.tally(
            frame, label="y", score="p"
        )
        assert str(next(iter(groups))) == "sex=f, origin=1"

    @pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
    def test_are_answered_alone_and_together(self, frame, kind):
        answers = trueness.auc(kind(frame), **WORDS)

        women = frame[frame.sex == "f"]
        second = women[women.origin == 2]

        assert len(answers) == 2 + 3 + 6 + 1

        for name, part in {
            "sex=f": women,
            "sex=f, origin=2": second,
            "all cases": frame,
        }.items():
            assert answers[name].value == trueness.auc(part.y, part.p).value

    def test_are_rows_of_an_evaluation(self, frame):
        found = trueness.evaluate(frame, **WORDS)

        (groups,) = found.numbers["groups"].values()
        assert {"sex=m", "origin=3", "sex=m, origin=3"} <= set(groups)
        (whole,) = found.numbers["scores"].values()
        assert whole["auc"].value == trueness.auc(frame.y, frame.p).value

    def test_of_counts_are_read(self, frame):
        table = frame.groupby(["p", "sex", "origin"], as_index=False).agg(
            pos=("y", "sum"), n=("y", "size")
        )
        table["neg"] = table.n - table.pos
        counts = table.rename(columns={"p": "score"}).drop(columns="n")
        counts["unknown"] = 0

        groups = trueness.tally(counts, by=["sex", "origin"])

        assert groups == trueness.tally(frame, **WORDS)

    def test_names_a_column_that_is_not_there(self, frame):
        with pytest.raises(
            trueness.InputError,
            match="by must name a column; there is no column 'orgin'",
        ):
            trueness.auc(frame, label="y", score="p", by=["sex", "orgin"])

    def test_one_column_in_a_list_is_a_column(self, frame):
        answers = trueness.auc(frame, label="y", score="p", by=["sex"])

        assert set(answers) == {"f", "m", "all cases"}


def test_each_column_alone_is_a_sum():
    cells = {("f", 1): 3, ("f", 2): 4, ("m", 1): 5}
    groups = {Group(("sex", "origin"), values): n for values, n in cells.items()}

    alone = each_column_alone(groups)

    assert {str(g): n for g, n in alone.items()} == {
        "sex=f": 7,
        "sex=m": 5,
        "origin=1": 8,
        "origin=2": 4,
    }
