"""Readers in other languages: R, and the JSON Schema."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import trueness
from forged_declarations import count_forgeries, last_digit_forgeries

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def in_r(tmp_path_factory):
    """Return a function that checks the data of a declaration by R."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed")
    known = subprocess.run(
        [rscript, "-e", "library(jsonlite)"], capture_output=True, check=False
    )
    if known.returncode:
        pytest.skip("R has no jsonlite")
    file = tmp_path_factory.mktemp("r") / "declaration.json"

    def run(content):
        file.write_text(json.dumps(content))
        return subprocess.run(
            [rscript, str(DOCS / "verify.R"), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("options", [{}, {"prevalence": 0.05}])
def test_r_and_python_agree(in_r, cases, options):
    label, score, hospital = cases
    declaration = trueness.declare(
        trueness.tally(label, score, **options),
        at=[0.3, 0.97],
        groups={"hospital": trueness.tally(label, score, by=hospital, **options)},
    )

    answer = in_r(declaration.to_dict())

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count(": follows") > 60


def test_r_names_a_forgery(in_r, declaration):
    content = json.loads(json.dumps(declaration.to_dict()))

    for forge in (last_digit_forgeries, count_forgeries):
        forged = next(forge(content))
        answer = in_r(forged)

        assert answer.returncode == 4
        assert "does not follow" in answer.stdout


def test_the_schema_describes_what_is_written(declaration):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((DOCS / "declaration.schema.json").read_text())
    attempts = trueness.Attempts(["a", "b"], passed=[2, 0], tried=[3, 3])

    for content in (declaration, trueness.declare(attempts)):
        jsonschema.validate(content.to_dict(), schema)

    wrong = declaration.to_dict() | {"level": 2}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)
