"""How does a value reach a library that the core must not import?

Values know how to show and store themselves (``to_frame``, ``write``), but the work
is done in a door, a module on the top layer that owns one foreign library. The door
is opened by name, when it is asked for. This is the only call that points up, so
the import graph still points down (``tests/test_layers.py``).
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

# what ``dir(trueness)`` and the first page of the reference show, by question: counts,
# metrics, ranking, comparison, threshold, calibration, ranks, together, no truth,
# leaves, large data, errors; other names are found under their rooms, and resolve too
SHOWN = tuple(  # words in a text, as everybody reads them
    """
    tally panel leaves scan one_vs_rest read_tally read_panel Tally Panel Leaves
    at_threshold metric constraint METRICS Metric Constraint Confusion
    auc average_precision partial_auc roc precision_recall det gain_curve lift_curve
    roc_band precision_recall_band plan_auc
    compare_auc compare_metric compare_groups dominates reader_study
    best_threshold best_thresholds validate_threshold guaranteed_threshold pareto
    cost_curve decision_curve
    calibrate CALIBRATORS at_prevalence apply save_map load_map reliability brier
    log_loss calibration_verdict calibration_error calibration_line calibration_test
    fermi_dirac
    fidel wisdom_of_crowds mean_score best_single COMBINERS compare_combiners agreement
    latent_class best_combination cost_rule
    prevalence compare_prevalence plan_labels
    confidence_level utility_level
    bounds Stream
    check watch
    Estimate InputError NotEnoughCases Infeasible NotConverged Optimistic
    DoubtfulAssumption
    """.split()  # noqa: SIM905 - eighty quoted names are hard to read
)
# the rooms that people open by name
OPEN = ("estimators", "plots", "report", "samples")


def door(name: str) -> Any:
    """Which module serves this foreign library?"""
    return import_module(f"trueness.{name}")


class Later:
    """A foreign library that is imported when something of it is first used."""

    def __init__(self, library: str, extra: str) -> None:
        self._library, self._extra = library, extra

    def __getattr__(self, name: str) -> Any:
        return getattr(installed(self._library, self._extra), name)


def homes(folder: str) -> dict[str, str]:
    """Which module of Trueness holds each public name?

    Read from the stub that type checkers read, so that ``import trueness`` loads
    nothing but this list, and a name is written down once.
    """
    stub = ast.parse((Path(folder) / "__init__.pyi").read_text(encoding="utf-8"))
    found = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    pairs = [
        (name.name, (node.module or "").removeprefix("trueness."))
        for node in found
        if node.module != "trueness"  # its own modules: their names are their homes
        for name in node.names
    ]
    return dict(sorted(pairs))


def installed(library: str, extra: str) -> Any:
    """Open a foreign library, or say how to get it."""
    try:
        return import_module(library)
    except ImportError:
        # not at the top: ``import trueness`` loads this module and nothing else
        from trueness._core.checks.errors import NotInstalled

        raise NotInstalled(
            f"This needs {library}, which is not installed. "
            f'Type: pip install "trueness[{extra}]".',
            name=library,
        ) from None
