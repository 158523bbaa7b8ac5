"""Do we answer as other software does? Each folder holds the vectors of one suite."""

from __future__ import annotations

import pytest

from outside.answers import HERE, SUITES, answers_of, read_suite, tolerance


@pytest.mark.parametrize("name", SUITES)
def test_the_numbers_of_a_suite_are_ours(name):
    wrong = [
        f"{vector['call']} {vector['inputs']}: {vector['number']}, ours {number}"
        for vector, number in answers_of(name)
        if not abs(number - vector["number"]) <= tolerance(vector)
    ]

    assert wrong == []


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_names_source_version_and_licence(name):
    suite = read_suite(name)

    for field in ("suite", "version", "licence", "source", "compared", "made_by"):
        assert suite[field], field
    assert (HERE / name / suite["made_by"]).is_file()
    assert suite["vectors"]
    assert all(vector["digits"] >= 2 for vector in suite["vectors"])


def test_the_page_is_current(monkeypatch):
    """Type python docs/how_do_we_know.py when this fails."""
    monkeypatch.syspath_prepend(str(HERE.parents[1] / "docs"))
    import how_do_we_know

    assert how_do_we_know.PAGE.read_text(encoding="utf-8") == how_do_we_know.page()
