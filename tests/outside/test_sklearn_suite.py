"""scikit-learn's own tests of its metrics, with our functions in place of theirs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MODULES = ("test_ranking", "test_classification", "test_common")


@pytest.mark.slow
def test_scikit_learns_own_tests_pass_with_our_answers(tmp_path):
    # an empty file, so that neither our settings nor theirs apply
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\n")
    paths = [str(TESTS), str(TESTS.parent / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-W", "ignore"),
            *("-p", "outside.sklearn_plugin", "-p", "no:cacheprovider"),
            *("-c", str(settings), "--rootdir", str(tmp_path), "--pyargs"),
            *(f"sklearn.metrics.tests.{module}" for module in MODULES),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=900,
    )

    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    answered = re.search(r"answered by Trueness: (\d+)", run.stdout)
    assert answered is not None
    assert int(answered[1]) > 8000
