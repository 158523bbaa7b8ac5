"""Trueness measures, calibrates, thresholds, compares and combines binary classifiers.

The table of contents, by question:

What was counted?
    tally panel leaves scan look Tally Panel Leaves read_tally read_panel Stream
    simulate_tally simulate_panel at_horizon
What if there are more than two classes?
    one_vs_rest top_label multiclass_auc multiclass_cost
What does it cost to leave the data where they are?
    bounds exact_auc exact_threshold apply sql
How good is it, at a glance?
    evaluate
How good is my threshold? Metrics add, scale and compare.
    at_threshold confusion indeterminate_results sweep thresholds Confusion metric
    constraint METRICS,
    and the metrics themselves: accuracy, recall, cost(fp=, fn=), ...
How good is the ranking, and how sure are we?
    auc partial_auc average_precision gini ks decile_table estimate Estimate
    roc precision_recall det gain_curve lift_curve roc_band precision_recall_band
    plan_auc plan_auc_difference plan_rate
Which is better, and everywhere?
    compare_auc compare_metric compare compare_groups dominates
Do readers do better with one treatment than with another?
    reader_study plan_readers
Where should the threshold be?
    Rule best_threshold best_thresholds group_thresholds validate_threshold
    guaranteed_threshold pareto cost_curve decision_curve milp_program
What does a score mean as a probability?
    calibrate CALIBRATORS save_map load_map at_prevalence calibration_verdict
    reliability brier log_loss calibration_error calibration_line calibration_test
    calibration_gain calibration_index
What does a rank mean?
    fermi_dirac
Are they better together?
    fidel wisdom_of_crowds best_single mean_score COMBINERS agreement compare_combiners
What can be said when nobody knows the truth?
    latent_class best_combination cost_rule
What is the true rate, by judges that err and a few labels?
    prevalence compare_prevalence plan_labels read_verdicts
How good is a system whose verdicts can be trusted, and which is better?
    attempts Attempts pass_rate pass_at_k pass_hat_k compare_runs plan_items
    leaderboard head_to_head rater_agreement read_attempts
Does it hold at every site, and what will it do at the next one?
    across_sites summary_roc read_studies
Can this leaf be trusted?
    confidence_level utility_level plan_leaf top_probability compare_splits
How good is a model by cross-validation?
    cross_validate
What do I show to others?
    report
Can a number be checked without the data?
    declare verify
Is it good enough, and does it stay so?
    check watch load_watch psi
How good is it today, when there are no labels?
    ExpectedLabels LabelSample tipping_point
What can go wrong?
    InputError NotEnoughCases Infeasible NotConvergedWarning OptimisticWarning
    DoubtfulAssumptionWarning CleanedWarning

``trueness.plots`` draws, ``trueness.reports`` has the report, ``trueness.estimators``
is for scikit-learn, ``trueness.samples`` holds data to try things on, and
``trueness.records`` the classes of answers. What few people need has its place in its
room: ``trueness.ranking.hull``, ``trueness.trees.tree_levels``.
"""

from trueness._core import interrupts as _interrupts

if _interrupts.is_program():  # before the imports below, which take their time
    _interrupts.quit_when_interrupted()

import sys as _sys
from collections.abc import Callable as _Callable
from importlib import import_module as _import_module
from pathlib import Path as _Path
from types import FunctionType as _FunctionType
from types import ModuleType as _ModuleType
from typing import Any as _Any

from trueness._core.imports import HigherFunction as _HigherFunction
from trueness._core.imports import load as _load
from trueness._core.imports import modules_of_names as _modules_of_names
from trueness._core.imports import register_handlers as _register_handlers

__version__ = "0.1.0"

_NAMES = _modules_of_names(_Path(__path__[0]) / "__init__.pyi")
# modules that people open by name, and rooms that have names of their own
_OPEN = [name for name, module in _NAMES.items() if module == "trueness"]
_ROOMS = (
    *("calibration", "counts", "ensembles", "fermi", "nogold", "ranking", "records"),
    *("sites", "trees"),
)
# a public name and the module that holds it, which is loaded when the name is used
_MODULES = {name: module for name, module in _NAMES.items() if name not in _OPEN}

# what needs scikit-learn or Jinja2 is no part of ``from trueness import *``
_NEED_MORE = ("trueness.estimators", "trueness.reports")
__all__ = [n for n, home in _MODULES.items() if not home.startswith(_NEED_MORE)]

# what a room asks of a room above it: the function, and the module that has it
_register_handlers(
    {
        "answer_folds": "trueness.ensembles.fold_analyses",
        "answer_on_device": "trueness.gpu.answers",
        "answer_with_bounds": "trueness.scale.certificates",
        "attempts": "trueness.data.eval_rows",
        "by_name": "trueness.metrics.definitions",
        "column": "trueness.data.columns",
        "columns_of": "trueness.data.engines",
        "count_arguments": "trueness.data.arguments",
        "declared_counts": "trueness.declarations.tables",
        "declaration_markdown": "trueness.declarations.markdown",
        "declaration_page": "trueness.declarations.page",
        "declaration_text": "trueness.declarations.json_format",
        "declaration_to_json": "trueness.declarations.json_format",
        "device_panel": "trueness.gpu.panels",
        "device_tally": "trueness.gpu.tallies",
        "draw": "trueness.plots._matplotlib",
        "explained": "trueness._core.checks.options",
        "figure_of": "trueness.reports.notebook",
        "figure_of_answer": "trueness.plots.of_answers",
        "expected_panel": "trueness.nogold.expected_panels",
        "fidel": "trueness.ensembles.combiners",
        "fit_label_map": "trueness.calibration.calibrators",
        "metric": "trueness.metrics.grammar",
        "metric_at": "trueness.threshold.rule",
        "not_a_function": "trueness._core.names",
        "not_here": "trueness._core.names",
        "find_readings": "trueness.data.named_roles",
        "is_tie": "trueness.data.named_roles",
        "read_winners": "trueness.data.named_roles",
        "report_of": "trueness.reports",
        "serve": "trueness.app.server",
        "site_column": "trueness.data.named_roles",
        "show_in_notebook": "trueness.reports.notebook",
        "sketch": "trueness.reports.notebook",
        "statistic_by_name": "trueness.sites.values",
        "write_panel": "trueness.data.storage",
        "write_tally": "trueness.data.storage",
        "_import_all": "trueness",
    }
)


_EXPLAINED: _HigherFunction[_Callable[[_Any], _Any]] = _HigherFunction("explained")
_BY_NAME: _HigherFunction[_Callable[[str], object]] = _HigherFunction("by_name")
_NOT_HERE: _HigherFunction[_Callable[..., str]] = _HigherFunction("not_here")
_NOT_A_FUNCTION: _HigherFunction[_Callable[[str], Exception]] = _HigherFunction(
    "not_a_function"
)


def _import_all() -> None:
    """Import every module that has a public name."""
    records = _load("trueness.records", "_MODULES")
    for module in sorted({*_MODULES.values(), *records.values()}):
        _import_module(module)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value: object = _load(_MODULES[name], name)
        if type(value) is _FunctionType and not hasattr(value, "takes"):
            value = _EXPLAINED.load()(value)
        globals()[name] = value
        return value

    try:
        return _import_module(f"trueness.{name}")
    except ModuleNotFoundError as err:
        if err.name != f"trueness.{name}":  # a foreign library is missing
            raise

    if name.startswith("_"):
        raise AttributeError(f"module 'trueness' has no attribute {name!r}")

    named: object = _BY_NAME.load()(name)  # other names of metrics: jaccard, ppv
    if named is None:
        inside = {
            n: room for room in _ROOMS for n in _load(f"trueness.{room}", "__all__")
        }
        raise AttributeError(_NOT_HERE.load()(name, [*_MODULES, *_OPEN], inside))

    return named


class _Module(_ModuleType):
    """A module of Trueness, which says what to type when it is called."""

    def __call__(self, *_: object, **__: object) -> None:
        raise _NOT_A_FUNCTION.load()(self.__name__.removeprefix("trueness."))

    def __setattr__(self, name: str, value: object) -> None:
        if type(value) is _ModuleType:  # Python has imported it
            value.__class__ = _Module
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Module


def __dir__() -> list[str]:
    return sorted({"__doc__", "__version__", *_MODULES, *_OPEN})
