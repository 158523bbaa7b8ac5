"""Shared data for the tests: one place for engines and for random tied data."""

import os
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import settings

settings.register_profile("karat", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("karat")

# a new dataframe engine is one line: a function from columns to its frame
ENGINES = {
    "pandas": pd.DataFrame,
    "pandas-nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas-arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "polars": lambda columns: pl.DataFrame(columns, strict=False, nan_to_null=True),
    "pyarrow": lambda columns: pa.table(
        {k: pa.array(v, from_pandas=True) for k, v in columns.items()}
    ),
    "pyarrow-chunked": lambda columns: pa.concat_tables(
        pa.table({k: pa.array(v[i::2], from_pandas=True) for k, v in columns.items()})
        for i in range(2)
    ),
}


@pytest.fixture(params=sorted(ENGINES))
def engine(request):
    return ENGINES[request.param]


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


def tied_cases(rng, n, *, levels=7, prevalence=0.4, shift=1.0):
    """Random labels and scores with many ties, both classes present."""
    y = (rng.random(n) < prevalence).astype(int)
    y[:2] = 0, 1
    score = np.round((rng.normal(size=n) + shift * y) * levels / 4) / levels
    return y, score


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by Playwright.

    Where it is missing the tests are skipped with a reason, except in CI (``CI=true``),
    where a missing browser is a failure.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("No browser: apt-get install chromium")
    if found is None:
        pytest.skip("No browser on this machine: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=flags)
        yield opened
        opened.close()
