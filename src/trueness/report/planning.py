"""How many cases would be enough? The section that plans."""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.numbers import counted, level_text
from trueness.ranking.planning import Plan, plan_auc
from trueness.report._parts import Section, grid
from trueness.report.inputs import Model, ReportOptions, chosen_model

STEPS = (1.0, 0.75, 0.5)  # of the wanted half-width: what more would cost


def section(models: Sequence[Model], options: ReportOptions) -> Section | None:
    """Say how many cases an interval of a wanted width needs."""
    m, aim = chosen_model(models, options), options.half_width
    share, area = m.steps.share, m.auc.value
    if aim is None or not 0.5 <= area < 1:  # new cases must be able to have the AUC
        return None
    plans = {
        w: plan_auc(auc=area, prevalence=share, half_width=w, level=options.level)
        for w in (aim * step for step in STEPS)
    }
    labelled = m.tally.n_pos + m.tally.n_neg
    now = (m.auc.high - m.auc.low) / 2
    rows = [
        (f"±{w:.3g}", p.n, p.n_pos, max(p.n - labelled, 0)) for w, p in plans.items()
    ]
    return Section(
        "planning",
        words=(_sentence(m, now, labelled, plans[aim], aim, options),),
        tables=(
            grid(
                f"Cases for an interval of the AUC of {m.name}",
                ("half-width", "cases", "of them positive", "more than now"),
                rows,
            ),
        ),
        method=(
            "The smallest number of cases for which the confidence interval of the AUC "
            "is on average as narrow as wanted, if the AUC and the prevalence are "
            "those found here and the scores of both classes are normal."
        ),
        caveat=(
            "A plan is as good as the AUC that it expects; plan with a lower one too."
        ),
    )


def _sentence(
    m: Model, now: float, labelled: int, plan: Plan, aim: float, options: ReportOptions
) -> str:
    have = (
        f"With {counted(labelled, 'labelled case')} the {level_text(options.level)} "
        f"confidence interval of the AUC of {m.name} is about ±{now:.2g}."
    )
    more = plan.n - labelled
    if more <= 0:
        return f"{have} That is narrower than ±{aim:g} already."
    return (
        f"{have} For ±{aim:g}, {plan.n:,} cases are needed, {plan.n_pos:,} of them "
        f"positive: {more:,} more than now."
    )
