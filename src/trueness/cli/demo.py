"""What does Trueness do, in one minute, on data that it brings along?"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import trueness
import trueness.report as report
from trueness import samples
from trueness._core.numbers import cut_text, listed, percent
from trueness._core.progress import progress, steps
from trueness.calibration.calibrators import calibrate
from trueness.calibration.gain import calibration_gain
from trueness.cli._command import command
from trueness.cli._outputs import make_folder
from trueness.cli._shell import CommandAnswer, table
from trueness.comparison.dominance import dominance_sentence, dominates
from trueness.comparison.paired import compare_auc
from trueness.counts.values import Panel
from trueness.data.files import scan
from trueness.data.frames import leaves, panel
from trueness.ensembles.crossfit import compare_combiners
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.fitting import latent_class
from trueness.ranking.areas import auc
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.validation import validate_threshold

MODELS = ("boosting", "logistic", "adaboost", "forest", "neighbours")
LIMIT = "recall >= 0.8"


@command()
def demo(folder: Path = Path("demo_output")) -> CommandAnswer:
    """Evaluate the sample data, say what was found and write a report.

    --folder, -o: Folder for the files.

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
    parts += ["", "Files:"]
    parts += [f"  {path}  {what}" for path, what in written.items()]
    parts += [
        "",
        "To look around in the browser: trueness app sample:west_nile",
        "Now with your own file: trueness report FILE --label Y --score P",
    ]
    result = {
        "steps": [
            {"title": title, "sentences": [x for x in lines if isinstance(x, str)]}
            for title, lines in found.items()
        ],
        "files": [{"path": str(p), "what": what} for p, what in written.items()],
    }
    return CommandAnswer("demo", result, parts, chart=lambda: trueness.plots.roc(traps))


def _how_good(traps: Panel) -> list[Any]:
    tallies = {m: traps[m] for m in MODELS}
    rows = [[m, auc(t)] for m, t in tallies.items()]
    best = auc(tallies["boosting"])
    return [
        table(["model", "AUC (95 % CI)"], rows),
        "Given one trap with the virus and one without, boosting gives the infected "
        f"one the higher score {100 * best.value:.0f} times out of 100.",
    ]


def _where_to_cut(traps: Panel) -> list[Any]:
    t = traps["boosting"]
    point = best_threshold(t, "precision", LIMIT)
    found = validate_threshold(t, "precision", LIMIT, replicates=500, rng=0)
    c, p = point.confusion, found.metrics["precision"]
    return [
        "To find 80 % of the infected traps with the highest precision, flag a trap "
        f"when boosting gives it {cut_text(point.threshold)} or more.",
        f"That finds {int(c.tp)} of {t.n_pos} and flags {int(c.fp):,} others: "
        f"{percent(p.value)} of the flagged traps are infected (95 % CI "
        f"{percent(p.low)} to {percent(p.high)}).",
    ]


def _which_is_better(traps: Panel) -> list[Any]:
    found = compare_auc(traps)
    sure = [p for p in found.pairs if p.p_adjusted < 0.05 and p.first == MODELS[0]]
    crossed = dominates(traps, *MODELS[:2], rng=0)
    return [
        f"boosting ranks significantly better than {len(sure)} of the 4 others (paired "
        f"tests, adjusted for their number).",
        dominance_sentence(crossed, *MODELS[:2]),
    ]


def _what_scores_mean(traps: Panel) -> list[Any]:
    t = traps["adaboost"]
    fitted = calibrate(t, method="beta")
    found = calibration_gain(t, method="beta", rng=0)
    return [
        f"adaboost ranks well, but of the traps with a score of 0.4, "
        f"{100 * float(fitted(0.4)):.0f} in 100 have the virus: its scores are not "
        f"probabilities.",
        f"Calibration lowers its Brier score (smaller is better) from "
        f"{found.before.value:.3f} to {found.cross_fitted.value:.3f}, on cases that "
        f"were not used for fitting.",
    ]


def _better_together(traps: Panel) -> list[Any]:
    found = compare_combiners(traps, rng=0)
    best = found.best()
    if best == found.against:
        return [
            "No: five ways to combine the five models were tried, and on cases that "
            "were not used for fitting none ranks better than the best single model.",
            "The models make the same errors; the report shows the numbers.",
        ]
    return [
        f"Combined by {best}, the five models reach an AUC of "
        f"{found.auc[best].value:.3f} on cases that were not used for fitting.",
        found.sentence(),
    ]


def _which_leaves(traps: Panel) -> list[Any]:
    counted = scan(samples.path("leaves"))
    found = leaves(counted, node="leaf", label="virus", count="n").report()
    thin = [
        str(n) for n, v in zip(found.node, found.verdict, strict=True) if v != "trust"
    ]
    return [
        f"A small decision tree has {found.node.size} leaves; in {len(thin)} of them "
        f"the cases are too few to trust the majority (leaves {listed(thin)})."
    ]


def _without_truth(traps: Panel) -> list[Any]:
    names = ["V1", "V2", "V3", "V4"]
    tests = panel(scan(samples.path("hiv")), scores=names, count="count")
    found = latent_class(tests, rng=0)
    p, best = found.prevalence, best_combination(found)
    alone = latent_class(tests, rng=0, dependence="none").prevalence
    return [
        f"Four HIV tests on {tests.n} people, and it is not known who is infected. "
        f"If the tests may make the same errors, {percent(p.low)} to {percent(p.high)} "
        f"are (95 % credible interval); if their errors are independent, "
        f"{percent(alone.value)}. Only labels of some people show which.",
        f"The best rule to combine the tests: {best.formula}.",
    ]


def _files(traps: Panel, folder: Path) -> dict[Path, str]:
    written = {
        folder / "report.html": "the full report, with a slider for the threshold",
    }
    with progress("Writing the files", unit=""):
        report.write(
            traps,
            folder / "report.html",
            title="West Nile virus in mosquito traps",
            source="sample:west_nile",
            maximize="precision",
            subject_to=[LIMIT],
        )
        # pictures are an extra, which the command line does without
        if all(find_spec(library) for library in ("altair", "vl_convert")):
            plots = trueness.plots
            plots.save(plots.roc(traps), folder / "roc.svg")
            written[folder / "roc.svg"] = "ROC curves of the five models"
            curves = folder / "precision_recall.svg"
            plots.save(plots.precision_recall(traps), curves)
            written[curves] = "precision and recall"
    return written


STEPS: dict[str, Callable[[Panel], list[Any]]] = {
    "How good is each model?": _how_good,
    "Where should the threshold be?": _where_to_cut,
    "Which model is better, and is it better everywhere?": _which_is_better,
    "What does a score mean?": _what_scores_mean,
    "Would they be better together?": _better_together,
    "Which leaves of a tree can be trusted?": _which_leaves,
    "How good are tests when the truth is unknown?": _without_truth,
}
