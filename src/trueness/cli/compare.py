"""Which is better, and is one better everywhere?"""

from __future__ import annotations

from typing import Any

import trueness
from trueness._core.progress import progress
from trueness.cli._columns import Request, count_panel
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._shell import CommandAnswer, about, answered, each_group
from trueness.findings.subject import subject
from trueness.findings.which_is_better import in_each_group, which_is_better


@command(TWO_SCORES)
def compare(request: Request) -> CommandAnswer:
    """Which score is better, and is it better everywhere? Paired tests, dominance.

    Example: trueness compare sample:west_nile --label virus --score boosting \
--score logistic
    """
    by = request.chosen.by
    asked: dict[str, Any] = {"level": request.level, "rng": request.seed}
    with progress("Counting", unit=""):
        panel = count_panel(request)
        groups = count_panel(request, by=True) if by else {}
    with progress("Comparing", unit=""):
        found = which_is_better(subject(panel, **asked), cluster=request.chosen.cluster)
        parts = each_group(groups, lambda part: which_is_better(subject(part, **asked)))
    return answered(
        "compare",
        in_each_group(found, parts, str(by)),
        chart=lambda: trueness.plots.roc(panel),
        about=about(request, panel),
    )
