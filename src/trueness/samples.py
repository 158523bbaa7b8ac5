"""Which data does Trueness bring along to try things on?

Real data, small: see ``examples/README.md`` for where each comes from and
``examples/make_west_nile.py`` for how it was made. ``RECONSTRUCTED`` names tables that
a paper does not print: they were recovered from its published summaries.
"""

from __future__ import annotations

from pathlib import Path

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError

# in a wheel they lie beside this module, in a checkout in examples/
_FOLDERS = (
    Path(__file__).parent / "sample_data",
    Path(__file__).parents[2] / "examples",
)


def path(name: str) -> Path:
    """Where is the sample of this name?

    Parameters
    ----------
    name
        One of ``trueness.samples.SAMPLES``.

    Examples
    --------
    >>> path("west_nile").name
    'west_nile.csv.gz'
    """
    _options.choice(name, list(SAMPLES), "sample")

    for folder in _FOLDERS:
        found = folder / SAMPLES[name]
        if found.is_file():
            return found

    raise InputError(
        f"The sample {name!r} is not part of this installation. Install Trueness again "
        "(pip install --force-reinstall trueness)."
    )


SAMPLES = {
    "west_nile": "west_nile.csv.gz",
    "leaves": "west_nile_leaves.csv",
    "golf": "golf.csv",
    "hiv": "no_gold/hiv_alvord1988.csv",
    "swine_flu": "no_gold/swineflu_recovered.csv",
    "chloroplast": "no_gold/chloroplast_reconstructed.csv",
    "snp": "no_gold/snp1000_reconstructed.csv",
    "snp_5000": "no_gold/snp5000_reconstructed.csv",
    "readers": "vandyke.csv.gz",
    "judges": "judges.csv",
    "studies": "studies.csv",
}
RECONSTRUCTED = ("swine_flu", "chloroplast", "snp", "snp_5000")
