"""What does Trueness do, in one minute, on data that it brings along?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from trueness import plots, report, samples
from trueness._core.progress import progress, steps
from trueness.calibration.calibrators import calibrate
from trueness.calibration.gain import calibration_gain
from trueness.cli._command import command
from trueness.cli._outputs import make_folder
from trueness.cli._shell import Answer, table
from trueness.comparison.aucs import compare_auc
from trueness.comparison.dominance import dominates
from trueness.counts.values import Panel
from trueness.data.files import scan
from trueness.data.frames import leaves, panel
from trueness.ensembles.crossfit import compare_combiners
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.posterior import latent_class
from trueness.ranking.auc_intervals import auc
from trueness.report.comparison import dominance_sentence
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.validation import validate_threshold

MODELS = ("boosting", "logistic", "adaboost", "forest", "neighbours")
WISH = "recall >= 0.8"


@command()
def demo(
    folder: Annotated[
        Path,
        typer.Option(
            "--folder", "-o", help="Where the files go.", rich_help_panel="Output"
        ),
    ] = Path("demo_output"),
) -> Answer:
    """Evaluate the sample data, say what was found and write a report.

    Example: trueness demo
    """
    make_folder(folder)
    traps = panel(scan(samples.path("west_nile")), label="virus", scores=list(MODELS))
    found = {
        title: STEPS[title](traps)
        for title in steps(STEPS, "Looking at the sample", unit="questions")
    }
    written = _files(traps, folder)
    parts: list[Any] = [
        f"Five models predict West Nile virus in {traps.n:,} mosquito traps of "
        f"Chicago; {traps.n_pos} of them had it."
    ]
    for title, lines in found.items():
        parts += ["", title, *lines]
    parts += ["", "Files, to be opened in a browser or anywhere:"]
    parts += [f"  {path}  {what}" for path, what in written.items()]
    parts += ["", "Now with your own file: trueness report FILE --label Y --score P"]
    result = {
        "steps": [
            {"title": title, "sentences": [x for x in lines if isinstance(x, str)]}
            for title, lines in found.items()
        ],
        "files": [{"path": str(p), "what": what} for p, what in written.items()],
    }
    return Answer("demo", result, parts, chart=lambda: plots.roc(traps))


def _how_good(traps: Panel) -> list[Any]:
    tallies = {m: traps[m] for m in MODELS}
    rows = [[m, auc(t)] for m, t in tallies.items()]
    best = auc(tallies["boosting"])
    return [
        table(["model", "AUC (95% interval)"], rows),
        f"Of a trap with the virus and one without, boosting scores the right one "
        f"higher {100 * best.value:.0f} of 100 times.",
    ]


def _where_to_cut(traps: Panel) -> list[Any]:
    t = traps["boosting"]
    point = best_threshold(t, "precision", WISH)
    found = validate_threshold(t, "precision", WISH, replicates=500, rng=0)
    c, p = point.confusion, found.metrics["precision"]
    return [
        f"To find 80% of the infected traps with as few false alarms as possible, flag "
        f"a trap when boosting says {point.threshold:.4g} or more.",
        f"That finds {int(c.tp)} of {t.n_pos} and flags {int(c.fp):,} others: "
        f"{100 * p.value:.0f}% of the flagged traps are infected (95% interval "
        f"{100 * p.low:.0f}% to {100 * p.high:.0f}%).",
    ]


def _which_is_better(traps: Panel) -> list[Any]:
    found = compare_auc(traps)
    sure = [p for p in found.pairs if p.p_adjusted < 0.05 and p.first == MODELS[0]]
    crossed = dominates(traps, *MODELS[:2], rng=0)
    return [
        f"boosting ranks better than {len(sure)} of the 4 others, beyond chance "
        f"(paired tests, adjusted for their number).",
        dominance_sentence(*MODELS[:2], crossed),
    ]


def _what_scores_mean(traps: Panel) -> list[Any]:
    t = traps["adaboost"]
    fitted = calibrate(t, method="beta")
    found = calibration_gain(t, method="beta", rng=0)
    return [
        f"adaboost ranks well, but where it says 0.4 the virus is there in "
        f"{100 * float(fitted(0.4)):.0f} of 100 traps: these are no probabilities.",
        f"Calibrated, its Brier score falls from {found.before.value:.3f} to "
        f"{found.cross_fitted.value:.3f} on cases that the map had not seen (smaller "
        f"is better).",
    ]


def _better_together(traps: Panel) -> list[Any]:
    found = compare_combiners(traps, rng=0)
    best = max(found.auc, key=lambda name: found.auc[name].value)
    gain = found.difference[best]
    if best == found.against:
        return [
            "No: five ways to combine the five models were tried on cases that the "
            "combiner had not seen, and none ranks better than the best single model.",
            "They make the same errors; the report shows the numbers.",
        ]
    surely = "beyond chance" if gain.low > 0 else "which could be chance"
    return [
        f"Combined by {best}, the five models rank cases that the combiner had not "
        f"seen with an AUC of {found.auc[best].value:.3f}.",
        f"That is {gain.value:.3f} more than the best single model (95% interval "
        f"{gain.low:.3f} to {gain.high:.3f}), {surely}.",
    ]


def _which_leaves(traps: Panel) -> list[Any]:
    counted = scan(samples.path("leaves"))
    found = leaves(counted, node="leaf", label="virus", count="n").report()
    thin = [
        str(n) for n, v in zip(found.node, found.verdict, strict=True) if v != "trust"
    ]
    return [
        f"A small decision tree has {found.node.size} leaves; {len(thin)} of them hold "
        f"too few cases to trust their majority (leaves {', '.join(thin)}).",
    ]


def _without_truth(traps: Panel) -> list[Any]:
    names = ["V1", "V2", "V3", "V4"]
    tests = panel(scan(samples.path("hiv")), scores=names, count="count")
    found = latent_class(tests, rng=0)
    p, best = found.prevalence, best_combination(found)
    return [
        f"Four HIV tests on {tests.n} people, and nobody knows who is infected: from "
        f"their agreement alone {100 * p.value:.0f}% are (95% interval "
        f"{100 * p.low:.0f}% to {100 * p.high:.0f}%).",
        f"V1 finds {100 * found.sensitivity['V1'].value:.1f}% of them, V2 only "
        f"{100 * found.sensitivity['V2'].value:.0f}%. The best rule to combine them: "
        f"{best.formula}.",
    ]


def _files(traps: Panel, folder: Path) -> dict[Path, str]:
    written = {
        folder / "report.html": "the whole story, with a slider for the threshold",
        folder / "roc.svg": "ROC curves of the five models",
        folder / "precision_recall.svg": "precision and recall",
    }
    with progress("Writing the files", unit=""):
        report.write(
            traps,
            folder / "report.html",
            title="West Nile virus in mosquito traps",
            source="sample:west_nile",
            subject_to=[WISH],
        )
        plots.save(plots.roc(traps), folder / "roc.svg")
        plots.save(plots.precision_recall(traps), folder / "precision_recall.svg")
    return written


STEPS: dict[str, Callable[[Panel], list[Any]]] = {
    "How good is each model?": _how_good,
    "Where do I cut?": _where_to_cut,
    "Which model is better, and is it better everywhere?": _which_is_better,
    "What does a score mean?": _what_scores_mean,
    "Would they be better together?": _better_together,
    "Which leaves of a tree can be trusted?": _which_leaves,
    "How good are tests when nobody knows the truth?": _without_truth,
}
