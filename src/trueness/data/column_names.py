"""How is a column called? Its name as words, in small letters, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trueness._core.records import shown


def names_of(columns: Iterable[str], max_names: int = 12) -> str:
    """Return the names of columns in quotes, shortened, for a sentence."""
    names = list(columns)
    quoted = ", ".join(f"'{shown(name, 40)}'" for name in names[:max_names])
    not_named = len(names) - max_names
    return f"{quoted} and {not_named} more" if not_named > 0 else quoted


def words_of(name: str) -> set[str]:
    """Return the words of a name: ``riskScore_2`` has risk and score."""
    return set(re.findall(r"[a-z]+", _spaced(name).lower()))


def plain_name(name: str) -> str:
    """Write a name in small letters, its words joined by underscores: patient_id."""
    return re.sub(r"[^a-z0-9]+", "_", _spaced(name).lower()).strip("_")


def _spaced(name: str) -> str:
    """Set the words of a name apart that begin with a capital: ``PatientID``."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
