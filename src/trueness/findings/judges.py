"""What is the true rate behind the verdicts of judges? Findings on judged answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trueness._core.names import told_apart
from trueness._core.numbers import counted, level_text, points, spelt
from trueness._core.records import shown
from trueness.counts.values import Panel
from trueness.findings.records import Figure, Finding, Page, Table, Tile, said, table
from trueness.findings.subject import NAME, possible
from trueness.inference.limits import around
from trueness.nogold import figures, sentences
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison

_METHOD = {
    "random": "The labels say how likely an answer is right given its verdicts, and "
    "all cases say how common each pattern of verdicts is; the rate is the average. "
    "Nothing is assumed about the errors of the judges.",
    "by truth": "The labelled cases say how often each class passes; the rate is that "
    "of a mixture of both that passes as often as the other cases (after Rogan and "
    "Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510).",
    "none": "There are no labels, so verdicts alone do not determine the rate: the "
    "interval is that of a latent class model whose judges may share errors (Qu, Tan "
    "and Kutner 1996, doi:10.2307/2533043).",
}
_METHOD["by verdict"] = _METHOD["random"]


def judged(
    rates: Mapping[str, Rate],
    panels: Mapping[str, Panel],
    compared: RateComparison | None = None,
    *,
    title: str = "",
    source: str = "",
    command: str = "",
) -> Page:
    """Report on judged answers of one system or several.

    Parameters as in :func:`trueness.report.write_judges`.
    """
    texts = dict(zip(rates, told_apart(list(rates), NAME), strict=True))
    several = len(rates) > 1
    sections = [] if not several else [_systems(rates, texts, compared)]
    for s, r in rates.items():
        sections.append(
            _judges(r, panels[s], texts[s] if several else "", len(sections))
        )
    return Page(
        title or "What is the true pass rate?",
        _facts(rates, source),
        _tiles(rates, texts),
        tuple((q, said(texts)) for q, texts in _summary(rates, texts, compared)),
        tuple(sections),
        command=command,
    )


def _facts(rates: Mapping[str, Rate], source: str) -> tuple[tuple[str, str], ...]:
    first = next(iter(rates.values()))
    facts = [
        ("answers", f"{sum(r.cases for r in rates.values()):,}"),
        ("judges", f"{len(first.naive):,}"),
        ("labels", f"{sum(r.labels for r in rates.values()):,} ({first.labelled})"),
    ]
    if source:
        facts.append(("file", shown(source, 120)))
    return tuple(facts)


def _tiles(rates: Mapping[str, Rate], texts: Mapping[str, str]) -> tuple[Tile, ...]:
    if len(rates) > 1:
        return tuple(_rate_tile(texts[s], r) for s, r in list(rates.items())[:6])
    r = next(iter(rates.values()))
    worth, width = r.effective_judges, r.high - r.low
    tiles, raw = [_rate_tile("corrected", r)], figures.raw_rate(r)
    if np.isfinite(raw):
        said = f"{points(raw, width)} %"
        tiles.insert(0, Tile("raw pass rate", said, "what judges say"))
    if np.isfinite(worth.value) and len(r.naive) > 1:
        detail = f"independent judges ({worth.low:.1f} to {worth.high:.1f})"
        name = f"{spelt(len(r.naive))} judges are worth"
        tiles.append(Tile(name, f"{worth.value:.1f}", detail))
    return tuple(tiles)


def _rate_tile(name: str, r: Rate) -> Tile:
    width = r.high - r.low
    ends = f"{points(r.low, width)} to {points(r.high, width)} %"
    if not r.identified:
        return Tile(name, ends, "not determined without labels")
    return Tile(name, f"{points(r.value, width)} %", ends)


def _summary(
    rates: Mapping[str, Rate], texts: Mapping[str, str], compared: RateComparison | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    several = len(rates) > 1
    said = [
        " ".join(sentences.rate_sentences(r, texts[s] if several else ""))
        for s, r in rates.items()
    ]
    found = [("What is the pass rate?", tuple(said))]
    if compared is not None:
        found.append(
            ("Which is better?", tuple(sentences.difference_sentences(compared)))
        )
    named = {texts[s]: r for s, r in rates.items()}
    notes = sentences.rate_notes(named, () if compared is None else compared.notes)
    found.append(("What should you keep in mind?", tuple(notes)))
    return tuple(found)


def _systems(
    rates: Mapping[str, Rate], texts: Mapping[str, str], compared: RateComparison | None
) -> Finding:
    named = {texts[s]: r for s, r in rates.items()}
    tables = [table("Systems", sentences.SYSTEM_HEAD, sentences.system_rows(named))]
    if compared is not None:
        tables.append(_pairs(compared))
    note = "Dot and line: corrected, with its interval. Diamond: raw."
    rates_drawn = figures.rates_figure(named)
    return Finding(
        "Which system is better?",
        {"rates": dict(rates), "differences": compared},
        figures=(Figure(rates_drawn, rates_drawn.what, note, of="system"),),
        tables=tuple(tables),
        key="systems",
        caveat="Intervals that overlap do not say that systems are equal; the table of "
        "differences does the comparison.",
    )


def _pairs(c: RateComparison) -> Table:
    level = next(iter(c.rates.values())).level
    minus = " \N{MINUS SIGN} "
    rows = [
        (
            minus.join(shown(str(name[k]), NAME) for name in (c.first, c.second)),
            around(c.difference[k], c.low[k], c.high[k], level),
            float(c.probability[k]),
            float(c.adjusted_p_value[k]),
        )
        for k in range(len(c.first))
    ]
    head = ("pair", "difference", "P(first is better)", "p (adjusted)")
    return table("Differences of the corrected rates", head, rows)


def _judges(r: Rate, panel: Panel, system: str, number: int) -> Finding:
    rows = [
        (f"{k} {shown(name, NAME)}", *numbers)
        for k, (name, *numbers) in enumerate(sentences.judge_rows(r), 1)
    ]
    on = f" on {system}" if system else ""
    return Finding(
        f"How good are the judges{on}?",
        {"rate": r},
        answer=said(sentences.rate_sentences(r, system)[2:]),
        figures=_figures(r, panel),
        tables=(table("Judges", sentences.JUDGE_HEAD, rows),),
        key=f"judges{number}",
        method=_METHOD[r.labelled],
        caveat=" ".join(r.notes[1:]),
    )


def _figures(r: Rate, panel: Panel) -> tuple[Figure, ...]:
    """Draw what can be drawn: without labels no errors are known."""
    made: list[Callable[[], Figure]] = [
        lambda: Figure(
            figures.judges_figure(r),
            "Judges in the ROC plane",
            "The numbers are those of the table; on the broken line a judge says "
            "nothing.",
            of="judge",
        )
    ]
    if r.labels and len(panel.names) > 1:
        made.append(
            lambda: Figure(
                figures.errors_figure(panel),
                "Which errors go together?",
                "Correlation of the errors of each pair of judges, by number, in "
                f"{counted(r.labels, 'labelled case')}: 0 independent, 1 the same.",
            )
        )
    if r.labels and r.labelled != "by truth":
        made.append(lambda: _by_labels(r, panel))
    return tuple(f for f in (possible(m) for m in made) if f is not None)


def _by_labels(r: Rate, panel: Panel) -> Figure:
    figure = figures.labels_figure(r, panel)
    note = (
        f"The {level_text(r.level)} interval that is expected with so many labels at "
        f"random; the broken line is where you are ({counted(r.labels, 'label')})."
    )
    order = tuple(line.name for line in figure.lines)
    return Figure(figure, "What would more labels bring?", note, order=order)
