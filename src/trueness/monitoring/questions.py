"""What may be watched, and against which bound? Questions that begin a watch.

A question is checked, its bound is read (from a number, or from a baseline with its
doubt), and a :class:`Watch` begins, or goes on from its file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_one, is_several, nearest
from trueness.counts.answers import whole_cases
from trueness.counts.values import Tally
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import known_names, metric
from trueness.monitoring.groups import GroupWatch
from trueness.monitoring.measures import limits_of
from trueness.monitoring.states import read_state
from trueness.monitoring.sums import packed
from trueness.monitoring.watching import Watch

KINDS = ("auc", "brier", "calibration", "scores", "flagged_share", "prevalence")
_NO_THRESHOLD = ("auc", "brier", "calibration", "scores", "prevalence")


@whole_cases
def watch(
    what: str,
    *,
    threshold: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    baseline: Tally | None = None,
    margin: float = 0.0,
    near: float | None = None,
    judges: Sequence[str] | None = None,
    by: str | None = None,
    groups: Sequence[str] | None = None,
    level: float = 0.95,
    rng: int = 0,
) -> Any:
    r"""Is the classifier still good? An alarm that is valid however often one looks.

    Of all streams that meet the bound, the alarm is ever raised in a share of at most
    ``1 - level``, whenever and however often one looks, with batches of any size.

    Parameters
    ----------
    what
        A metric that is a share of cases (recall, precision, npv, accuracy, f1, ...),
        with ``threshold``; ``"flagged_share"`` with ``threshold``, which needs no
        labels; ``"auc"``; ``"brier"``; ``"calibration"`` (are the scores near ``near``,
        or all scores, calibrated?); ``"scores"`` (have they changed? no labels needed);
        ``"prevalence"`` with ``judges``: the true rate behind their verdicts, with
        labels for a few cases chosen at random.
    at_least, at_most
        The bound; give one of the two.
    baseline, margin
        In place of a bound: the quantity must not be worse than in this tally by more
        than the margin. The uncertainty of the baseline is allowed for. For
        ``"scores"``: what to compare with.
    near
        For ``"calibration"``: scores within 0.05 of this.
    judges
        For ``"prevalence"``: the columns with the verdicts.
    by
        A column of groups: each group is watched, and there is one alarm for all of
        them. Batches are then mappings from group to tally, or frames with this column.
    groups
        The names of the groups, if known: each group then has an equal part of the
        allowed error.
    level
        One minus the share of false alarms over the whole life of the watch.
    rng
        Seed for breaking ties among ranks (``"scores"``), and for how unlabelled cases
        are dealt out (``"prevalence"``).

    Returns
    -------
    Watch or GroupWatch

    Notes
    -----
    Shares: a uniform mixture of likelihood ratios (Robbins 1970), a function of two
    counts. AUC: blocks of cases with both classes; a block with m of the rarer class
    counts as m pairs, since its U-statistic is an average of means of m independent
    pairs (Hoeffding 1963). Brier: sums and sums of squares (Fan et al. 2015; Howard et
    al. 2021; Waudby-Smith and Ramdas 2024). Scores: a conformal test martingale (Vovk
    et al. 2003).

    Cases are assumed to be exchangeable as long as nothing has changed; labels may come
    late, provided that the delay does not depend on the label.

    Examples
    --------
    >>> import trueness
    >>> w = trueness.watch("recall", threshold=0.5, at_least=0.9)
    >>> good = trueness.Tally([1.0, 0.0], neg=[5, 95], pos=[46, 4])
    >>> w.update(good).alarm
    False
    >>> bad = trueness.Tally([1.0, 0.0], neg=[5, 95], pos=[25, 25])
    >>> w.update(bad, name="monday").since
    'monday'
    """
    _options.fraction(level, "level")
    _options.whole_number(rng, "rng")
    _known(what)
    if baseline is not None:
        _cases.one_classifier(baseline, "watch")
    if threshold is not None:
        threshold = _options.real_number(threshold, "threshold")
    if near is not None:
        near = _options.fraction(near, "near", ends="[]")
    margin = _options.real_number(margin, "margin")
    _judges(what, judges)
    _groups(by, groups)
    side, bound, spent = _bound(
        what, threshold, at_least, at_most, baseline, margin, level
    )
    about: dict[str, Any] = {
        "metric": what,
        "threshold": threshold,
        "side": side,
        "bound": bound,
        "near": near,
        "level": spent,
        "rng": int(rng),
        "judges": list(judges or ()),
    }
    if by is not None:
        if what == "scores":
            raise InputError("Watch scores of each group with a baseline of its own.")
        return GroupWatch(about, by, groups)
    if what != "scores":
        return Watch.begun(about)
    if baseline is None or not baseline.n:
        raise InputError("A watch on scores needs a baseline to compare with.")
    return Watch.begun(about, packed(baseline))


def _judges(what: str, judges: Sequence[str] | None) -> None:
    if isinstance(judges, str) or not isinstance(judges, (Sequence, type(None))):
        raise InputError(f"judges is a list of columns; found {described(judges)}.")
    if (what == "prevalence") != bool(judges):
        raise InputError(
            'A watch on prevalence needs judges=["a", "b"], the columns of their '
            "verdicts; other watches take none."
        )


def _groups(by: Any, groups: Any) -> None:
    if by is None and groups is None:
        return
    if not isinstance(by, str):
        raise InputError(f"by names the column of the groups; found {described(by)}.")
    if groups is None:
        return
    if not is_several(groups) or not all(map(is_one, groups)) or not [*groups]:
        raise InputError(
            f"groups is a list of the names of groups; found {described(groups)}."
        )


def load_watch(path: str | os.PathLike[str]) -> Any:
    """Which watch does this file hold?

    Parameters
    ----------
    path
        A JSON or Parquet file, from ``save``.
    """
    held = read_state(path)
    if "groups" not in held:
        return _continued(held)
    _continued({"about": held["about"], "state": {}})
    parts = {g: _continued(w) for g, w in held["groups"].items()}
    about, by, named = (held[k] for k in ("about", "by", "named"))
    return GroupWatch(about, by, named, parts, held["looks"], held["since"])


def _continued(held: dict[str, Any]) -> Watch:
    """Go on with a watch from a file, if its question is one that can be asked."""
    about, what = held["about"], held["about"]["metric"]
    _known(what)
    _judges(what, about["judges"])
    bare = what in ("calibration", "scores")
    lacks = what not in _NO_THRESHOLD and about["threshold"] is None
    alone = what == "scores" and held["state"].get("bag") is None
    if lacks or alone or bare != (about["bound"] is None):
        raise InputError(
            f"The file holds a watch on {what} without its threshold, bound or "
            "baseline. Restore it from a copy, or begin a new watch in another file."
        )
    return Watch(about, held["state"])


def _known(what: str) -> Metric | None:
    if isinstance(what, str) and what in KINDS:
        return None
    try:
        found = metric(what)
    except InputError:
        names = [*KINDS, *known_names()]
        raise InputError(
            f"There is nothing called {described(what)} to watch."
            f"{nearest(what, names)} Known: {', '.join(names)}."
        ) from None
    if not found.is_share and what != "f1":
        raise InputError(
            f"{what} is not a share of cases, so it has no confidence sequence here. "
            f"Watch recall, precision, npv, accuracy, f1, auc or brier."
        )
    return found


def _bound(
    what: str,
    threshold: float | None,
    at_least: float | None,
    at_most: float | None,
    baseline: Tally | None,
    margin: float,
    level: float,
) -> tuple[int, float | None, float]:
    """Give which side is bad, the bound, and the level that is left for the stream."""
    if what not in _NO_THRESHOLD and threshold is None:
        raise InputError(f"{what} needs a threshold: which scores are flagged?")
    if what in ("calibration", "scores"):
        if at_least is not None or at_most is not None:
            raise InputError(f"A watch on {what} has no bound; leave it out.")
        return 1, None, level
    given = [b for b in (at_least, at_most, baseline) if b is not None]
    if len(given) != 1:
        raise InputError("Give one of at_least, at_most and baseline.")
    if baseline is None:
        bound = at_least if at_least is not None else at_most
        side = "at_most" if at_least is None else "at_least"
        bound = _options.fraction(bound, side, ends="[]")
        return (1 if at_least is not None else -1), bound, level
    if what == "prevalence":
        raise InputError("A rate from judges is watched with at_least or at_most.")
    # half of the errors for the doubt in the baseline, half for the stream
    half = (1 - level) / 2
    lower = what == "brier" or (what not in KINDS and metric(what).direction == "lower")
    low, high = _baseline_limits(what, baseline, threshold, half)
    bound = min(high + margin, 1.0) if lower else max(low - margin, 0.0)
    return (-1 if lower else 1), bound, 1 - half


def _baseline_limits(
    what: str, t: Tally, threshold: float | None, alpha: float
) -> tuple[float, float]:
    if what == "flagged_share":  # of all cases, with a label or without
        whole = t.n, int((t.neg + t.pos + t.unknown)[t.score >= (threshold or 0)].sum())
        t = Tally([1, 0], neg=[whole[1], whole[0] - whole[1]])
        what, threshold = "flagged_rate", 1.0
    found = limits_of(what, t, threshold)(alpha)
    return found.low, found.high
