"""The gallery: every figure of ``trueness.plots`` with the one line that draws it.

``python docs/gallery.py`` writes the page and its thumbnails to ``docs/_generated``, as
the build of the docs does. ``tests/test_gallery.py`` runs every line.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

HERE = Path(__file__).parent
THUMBNAIL_DPI = 90

# what the lines below begin with
SETUP = """
import numpy as np
import pandas as pd
import trueness
from trueness import plots

traps = pd.read_csv(trueness.samples.path("west_nile"))
names = ["boosting", "logistic", "neighbours"]
models = trueness.panel(traps, label="virus", scores=names)
t = models["boosting"]

# tests without a gold standard
results = [[0, 0], [0, 1], [1, 0], [1, 1]]
swine_flu = trueness.Panel(["NPA", "NS"], results, unknown=[30, 2, 6, 10])
post = trueness.latent_class(swine_flu, dependence="none", rng=0)

# judges with few labels
verdicts = pd.read_csv(trueness.samples.path("judges"))
names = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
judges = trueness.panel(verdicts, label="human", scores=names)
rate = trueness.prevalence(judges, labelled="random")

# studies, readers, leaves, splits
studies = trueness.read_studies(trueness.samples.path("studies"))
ratings = pd.read_csv(trueness.samples.path("readers"))
leaf_counts = pd.read_csv(trueness.samples.path("leaves"))
leaves = trueness.leaves(leaf_counts, node="leaf", label="virus", count="n")
splits = {"no split": ([1], [0.7]), "A": ([0.9, 0.1], [0.75, 0.25])}

# a tree of scikit-learn, with cases that it has not seen
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[::2], y[::2])
tree_report = trueness.estimators.leaf_report(tree, X[1::2], y[1::2])

# attempts of two systems at 200 tasks
rng = np.random.default_rng(0)
once = [1] * 200
old = trueness.Attempts(range(200), passed=rng.binomial(1, 0.5, 200), tried=once)
new = trueness.Attempts(range(200), passed=rng.binomial(1, 0.7, 200), tried=once)

# a watch over twelve weeks
watch = trueness.watch(metric="recall", threshold=0.5, at_least=0.8)
for week in range(12):
    hits = 88 if week < 6 else 60
    cases = trueness.Tally([0.9, 0.1], neg=[20, 180], pos=[hits, 100 - hits])
    watch.update(cases, name=f"week {week}")
"""

GALLERY = {
    "How good is the ranking?": """
plots.roc(models)
plots.roc(t, band="simultaneous")
plots.precision_recall(models)
plots.auc_forest(models)
plots.score_distributions(t)
plots.score_distributions(t, threshold=0.1)
plots.gain_curve(models)
plots.lift_curve(models)
plots.det(models)
plots.leakage(models)
plots.leakage_and_roc(t)
plots.roc({"data": t, "binormal": trueness.ranking.fit_binormal(t)})
plots.precision_recall(trueness.ranking.binormal(1, 1.5), prevalences=[0.1, 0.5, 0.9])
plots.binormal_fit(t)
plots.sample_size(trueness.plan_auc(auc=0.8, prevalence=0.2, half_width=0.05))
""",
    "Where should the threshold be?": """
plots.operating_point(t, "f1", ["recall >= 0.6", "flagged <= 1500"])
plots.guaranteed_threshold(t, trueness.guaranteed_threshold(t, "recall >= 0.8"))
plots.pareto(t, ["recall", "precision"])
plots.pareto_plane(t, ["recall", "precision"], subject_to="flagged <= 1500")
plots.cost_curve(models)
plots.decision_curve(models)
plots.risk_coverage(t)
plots.zones(t, trueness.best_threshold(t, "f1"))
plots.zones(t, trueness.best_thresholds(t, minimize="cost(fp=1, fn=20, defer=0.6)"))
""",
    "What does a score mean?": """
plots.reliability(t, replicates=100)
plots.reliability(models, replicates=100)
plots.calibration_maps({"platt": trueness.calibrate(t, method="platt")}, t)
plots.decomposition(trueness.brier(models))
plots.rank_probability(trueness.fermi_dirac(t), t)
plots.fermi_parameters()
""",
    "Which is better, and would they be better together?": """
plots.comparison(trueness.compare_auc(models))
plots.dominance(trueness.dominates(models, "boosting", "neighbours", replicates=200))
plots.reader_results(trueness.reader_study(ratings, label="truth", score="rating"))
plots.combiners(trueness.compare_combiners(models))
plots.rank_correlation(trueness.fidel(models))
plots.combiner_lines([3, 5, 7], {"FiDEL": [0.77, 0.79, 0.8]}, x_title="Models")
plots.identity([1, 2, 3], [1.1, 1.9, 3.2], x_title="One way", y_title="Another")
plots.pass_rates(trueness.leaderboard({"old": old, "new": new}))
""",
    "Without a gold standard": """
plots.posterior_densities(post)
plots.combination_densities(post)
plots.combination_plane(post)
plots.latent_model(post)
plots.judge_rates({"all answers": rate})
plots.judge_plane(rate)
plots.judge_errors(judges)
plots.judge_labels(rate, judges)
""",
    "Sites and studies": """
plots.site_forest(trueness.across_sites(studies, "recall"))
plots.summary_plane(trueness.summary_roc(studies, method="normal"))
""",
    "Leaves of a tree": """
plots.leaf_tree(tree, tree_report)
plots.leaf_probabilities(leaves.report())
plots.levels_by_sample_size(splits)
plots.majority_likelihood(5, 7)
""",
    "Before and after a release": """
plots.check_verdicts(trueness.check(t, ["auc >= 0.8", "recall >= 0.8 at 0.05"]))
plots.watch_history(watch)
""",
}  # fmt: skip


HEAD = """# Gallery

```{index} !gallery, !figures, !plots, !plotting, !charts, !matplotlib
```

Every figure that Trueness draws, with the line that draws it. Each line returns axes of
matplotlib; with `ax=` it draws on your own axes.

- At print size: `plots.roc(t).figure.savefig("roc.pdf")`, or `"roc.png", dpi=300`.
- With values under the pointer: `plots.save(plots.roc.figure_data(t), "roc.html")`.
- In a shell: `trueness evaluate FILE --plot roc.html` (or .svg, .png, .pdf).
- The same style for other figures: `plt.style.use("trueness.plots.theme")`.
"""


def lines() -> Iterator[tuple[str, str]]:
    """Return the section and the text of every line."""
    for section, text in GALLERY.items():
        for line in text.strip().splitlines():
            yield section, line


def names() -> dict[str, str]:
    """Return the file of each line: the function, numbered where it comes again."""
    found: dict[str, str] = {}
    for _, line in lines():
        call: Any = ast.parse(line, mode="eval").body
        earlier = sum(stem.startswith(call.func.attr) for stem in found.values())
        found[line] = call.func.attr + (f"_{earlier + 1}" if earlier else "")
    return found


def prepared() -> dict[str, Any]:
    """Run the setup, and return what it defines."""
    matplotlib.use("Agg")
    variables: dict[str, Any] = {}
    exec(SETUP, variables)  # noqa: S102 - the text above
    return variables


def draw(line: str, variables: dict[str, Any]) -> Any:
    """Run one line, and return the axes."""
    return eval(line, variables)  # noqa: S307 - the text above


def page() -> str:
    """Write the page: thumbnails, each over its line."""
    files = names()
    text = [HEAD]
    for section in GALLERY:
        text += [f"## {section}", ""]
        text += ["````{container} gallery", ""]
        for title, line in lines():
            if title == section:
                picture = f"![{files[line]}](gallery/{files[line]}.png)"
                text += [
                    "```{container} thumbnail",
                    picture,
                    "",
                    f"`{line}`",
                    "```",
                    "",
                ]
        text += ["````", ""]
    text += ["## Data for these lines", "", "```python", SETUP.strip(), "```", ""]
    return "\n".join(text)


def write(folder: Path) -> None:
    """Write the page and its thumbnails into a folder."""
    from matplotlib import pyplot

    variables = prepared()
    thumbnails = folder / "gallery"
    thumbnails.mkdir(parents=True, exist_ok=True)
    for line, name in names().items():
        ax = draw(line, variables)
        ax.figure.savefig(thumbnails / f"{name}.png", dpi=THUMBNAIL_DPI)
        pyplot.close(ax.figure)
    (folder / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(HERE / "_generated")
    sys.stdout.write("docs/_generated/gallery.md shows every figure.\n")
