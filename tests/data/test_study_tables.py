"""2x2 tables of papers become counts."""

import pytest

import trueness
from trueness.data.study_tables import study_tables

CSV = """Study,TP,FN,FP,TN,year,device
Adams 1999,9,1,2,18,1999,old
Brown 2004,7,3,5,15,2004,new
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "studies.csv"
    file.write_text(CSV)
    return file


def test_tables_of_a_file_are_counts_of_verdicts(path):
    tables = trueness.read_studies(path)

    assert list(tables) == ["Adams 1999", "Brown 2004"]
    adams = tables["Adams 1999"]
    assert adams.score.tolist() == [1, 0]
    assert adams.pos.tolist() == [9, 1]
    assert adams.neg.tolist() == [2, 18]


def test_other_columns_are_covariates(path):
    covariates = study_tables(path).covariates

    assert covariates["year"] == {"Adams 1999": 1999, "Brown 2004": 2004}
    assert covariates["device"] == {"Adams 1999": "old", "Brown 2004": "new"}


def test_studies_without_names_are_numbered():
    rows = {"tp": [1, 2], "fp": [1, 2], "fn": [1, 2], "tn": [1, 2]}

    assert list(trueness.read_studies(rows)) == ["1", "2"]


@pytest.mark.parametrize(
    ("column", "entries", "message"),
    [
        ("tp", [1.5, 2], "whole numbers"),
        ("tp", [-1, 2], "whole numbers"),
        ("tp", ["many", "few"], "whole numbers"),
        ("study", ["A", "A"], "name of its own"),
        ("tp", None, "there is no 'tp'"),
    ],
)
def test_errors_say_what_was_found(column, entries, message):
    rows = {"study": ["A", "B"], "tp": [1, 2], "fp": [1, 2], "fn": [1, 2], "tn": [1, 2]}
    if entries is None:
        del rows[column]
    else:
        rows[column] = entries

    with pytest.raises(trueness.InputError, match=message):
        trueness.read_studies(rows)
