"""What every command has in common: help, examples, JSON, figures, groups."""

import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import trueness
from shell import ENVIRONMENT
from trueness.cli._app import COMMANDS, app, load
from trueness.counts.design import CANNOT

PLANS = [f"plan {x}" for x in ("auc", "difference", "rate", "labels", "leaf")]
NAMES = [n for n in COMMANDS if n not in ("plan", "app")] + PLANS  # app serves


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words], env={"COLUMNS": "80"})


def command_named(name):
    first, *part = name.split()
    return load(first).commands[part[0]] if part else load(first)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two scores and three votes in three groups, of which "c" has one class only."""
    folder = tmp_path_factory.mktemp("answers")
    rng = np.random.default_rng(1)
    n = 260
    y = (rng.random(n) < 0.4).astype(int)
    g = np.where(np.arange(n) < 130, "a", "b")
    y[-4:], g[-4:] = 0, "c"
    noise = rng.normal(size=(5, n))
    frame = pd.DataFrame({"y": y, "g": g})
    for k, name in enumerate(["p", "q"]):
        frame[name] = np.round(1 / (1 + np.exp(-1.5 * (2 * y - 1) - noise[k])), 3)
    for k in range(3):
        frame[f"v{k}"] = (1.2 * y + noise[2 + k] > 0.6).astype(int)
    frame["kind"] = np.array(["low", "mid", "top"])[np.arange(n) % 3]
    for k in ("low", "mid", "top"):
        frame[f"p_{k}"] = np.round(0.3 * (frame["kind"] == k) + 0.7 * rng.random(n), 3)
    frame["leaf"] = np.digitize(frame["p"], [0.2, 0.5, 0.8])
    frame.to_csv(folder / "data.csv", index=False)
    frame[:20].to_csv(folder / "few.csv", index=False)  # few enough for exact sums
    rule = '[[require]]\nmetric = "auc"\nat_least = 0.5\n'
    (folder / "first.toml").write_text(f'label = "y"\nscore = "p"\n{rule}')
    return folder


ABOUT = {"file", "columns", "design", "positive", "cases"}
DATA = "data.csv --label y"
QUESTIONS = {
    "evaluate": f"evaluate {DATA} --score p --score q --by g",
    "evaluate at": f"evaluate {DATA} --score p --at 0.5",
    "evaluate classes": "evaluate data.csv --label kind --score p_low --score p_mid "
    "--score p_top --at 0.5",
    "threshold": f"threshold {DATA} --score p --by g --subject-to 'recall >= 0.7'",
    "threshold at": f"threshold {DATA} --score p --at 0.5 --by g",
    "threshold validated": f"threshold {DATA} --score p --validate",
    "threshold guaranteed": f"threshold {DATA} --score p --subject-to 'recall >= 0.5' "
    "--subject-to 'fpr <= 0.9' --guarantee 0.9 --by g",
    "threshold zones": f"threshold {DATA} --score p --validate "
    "--minimize 'cost(fp=1, fn=5, defer=0.3)'",
    "threshold zones guaranteed": f"threshold {DATA} --score p --guarantee 0.9 "
    "--subject-to 'fpr above <= 0.4' --subject-to 'fnr below <= 0.4'",
    "threshold range": f"threshold {DATA} --score p --prevalence 0.05:0.2",
    "compare": f"compare {DATA} --score p --score q --by g",
    "readers": "readers sample:readers --label truth --score rating --margin 0.05",
    "calibrate": f"calibrate {DATA} --score p --method platt --by g",
    "combine": f"combine {DATA} --score p --score q --by g",
    "nogold": "nogold data.csv --vote v0 --vote v1 --vote v2 --draws 500",
    "nogold by": "nogold data.csv --vote v0 --vote v1 --vote v2 --draws 500 --by g",
    "judge": "judge sample:judges --judge skywork_gemma_27b --judge internlm2_20b "
    "--label human --labelled random --next 5 --half-width 0.1",
    "judge systems": "judge sample:judges --judge skywork_gemma_27b --judge "
    "internlm2_20b --label human --labelled random --system kind",
    "evals": "evals sample:judges --item pair --passed truth",
    "evals systems": "evals data.csv --item y --passed v0 --system g",
    "sites": "sites sample:studies",
    "sites of a metric": "sites sample:studies --metric recall --covariate patients",
    "leaves": f"leaves {DATA} --node leaf --by g",
    "report": f"report {DATA} --score p -o r.html --by g",
    "report at": f"report {DATA} --score p -o a.html --at 0.5",
    "report classes": "report data.csv --label kind --score p_low --score p_mid "
    "--score p_top -o c.html",
    "report decisions": f"report {DATA} --score p --score q -o d.html "
    "--prevalence 0.05:0.2 --minimize 'cost(fp=1, fn=5, defer=0.3)'",
    "report without labels": "report few.csv --vote v0 --vote v1 -o n.html",
    "check": "check first.toml data.csv",
    "watch": "watch state.json data.csv --label y --score p --metric auc "
    "--at-least 0.5",
    "plan auc": "plan auc --auc 0.8 --null 0.7",
    "plan leaf": "plan leaf --p 0.75 --confidence 0.95 --utility 0.7",
}


def words_of(line):
    """Split a line as a shell does."""
    script = f'printf "%s\\0" {line}'
    found = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    return found.stdout.decode().split("\0")[:-1]


def command_of(words):
    return " ".join(words[:2]) if words[0] == "plan" else words[0]


def no_nan(value):
    raise AssertionError(f"{value} is not JSON")


@pytest.mark.parametrize("question", QUESTIONS)
def test_json_and_figure_of_every_command(question, folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = words_of(QUESTIONS[question])
    plot = folder / "figure.svg"
    plot.unlink(missing_ok=True)
    result = run(*words, "--json", "--plot", plot)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=no_nan)
    name = command_of(words)
    assert found["schema"] == f"trueness/{name}/1"
    always = {"schema", "trueness", "sentences", "result"}
    assert always <= set(found) <= always | ABOUT
    assert found["result"]
    assert plot.read_text().startswith("<svg")
    if "--by" in words and "groups" in found["result"]:
        groups = found["result"]["groups"]
        groups = groups["p"] if name == "evaluate" else groups
        assert set(groups) == {"a", "b", "c"}
    if question == "compare":  # the third group has one class
        assert found["result"]["groups"]["c"] is None
        assert "There is no answer for group 'c':" in result.stderr
        assert "group 'a'" not in result.stderr


def test_a_command_without_a_figure_says_so(tmp_path):
    line = "sql --dialect duckdb --table preds --label y --score p"
    wrong = run(*line.split(), "--plot", tmp_path / "x.svg")
    assert "trueness sql draws no figure" in wrong.stderr
    line = "plan difference --first 0.85 --second 0.8"
    found = json.loads(run(*line.split(), "--json").stdout, parse_constant=no_nan)
    assert found["result"]["plan"]["n"] > 10


def options_of(name):
    return set(inspect.signature(command_named(name).callback).parameters)


WITHOUT_FIGURE = ("plan difference", "plan rate", "plan labels", "declare", "verify")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_the_options_of_its_answer(name):
    options = options_of(name)

    assert {"json", "quiet", "debug"} <= options
    assert ("plot" in options) == (name not in WITHOUT_FIGURE)


# commands about predictions, and what they have beside the label; a row of readers is a
# reading, and the groups of judges are systems
ABOUT_PREDICTIONS = {
    **dict.fromkeys(("report", "evaluate", "threshold", "calibrate"), ("count", "by")),
    **dict.fromkeys(("compare", "combine", "nogold", "leaves"), ("count", "by")),
    "declare": ("count", "by"),
    **dict.fromkeys(("judge", "scorecard", "curve"), ("count",)),
    "readers": (),
}


@pytest.mark.parametrize("name", ABOUT_PREDICTIONS)
def test_commands_about_predictions_name_their_columns_alike(name):
    usual = {"file", "label", "positive", "level", *ABOUT_PREDICTIONS[name]}
    assert usual <= options_of(name)


RANDOM = ("threshold", "compare", "calibrate", "combine", "nogold", "judge", "report")


@pytest.mark.parametrize("name", [*RANDOM, "evaluate", "label"])
def test_commands_that_draw_random_numbers_take_a_seed(name):
    assert "seed" in options_of(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_itself(name):
    command = load(name)
    first_line = " ".join(command.help.split("\n\n")[0].split())
    assert COMMANDS[name].help == first_line
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", run("--help").stdout).split())
    assert COMMANDS[name].help[:40] in shown
    assert COMMANDS[name].panel in shown


def shown_example(name):
    """Give the example exactly as --help shows it in 80 columns."""
    text = run(*name.split(), "--help").stdout
    lines = [line.rstrip() for line in text.splitlines()]
    first = lines.index(" Example:") + 1
    return "\n".join(lines[first : lines.index("", first)])


CALIBRATE = (
    "calibrate sample:west_nile --label virus --score adaboost --method platt "
    "--save map.json"
)
# a command whose example reads a file, and the line that makes this file
MAKES_ITS_FILE = {
    "apply": CALIBRATE,
    "label": CALIBRATE,
    "verify": "declare sample:west_nile --label virus --score boosting --at 0.05",
}


@pytest.mark.parametrize("name", NAMES)
def test_examples_work_as_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program, *words = words_of(shown_example(name))
    assert program == "trueness"
    assert command_of(words) == name
    if name == "demo":
        return  # it has a test of its own
    if name in MAKES_ITS_FILE:
        made = run(*words_of(MAKES_ITS_FILE[name]))
        assert made.exit_code == 0, made.stderr
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    assert "Took" not in result.stderr or name == "report"


@pytest.mark.parametrize("name", [*NAMES, "app"])
def test_every_option_says_what_it_means(name):
    command = command_named(name)
    silent = [p.name for p in command.params if not p.help]
    assert not silent
    shown = run(*name.split(), "--help").stdout
    for python_type in ("<bool>", "<str>", "<list"):
        assert python_type not in shown


# a command, and the analysis that says which parts of a sampling design it refuses
REFUSING = {
    "combine": "compare_combiners",
    "judge": "prevalence",
    "leaves": "leaves",
    "nogold": "latent_class",
    "readers": "reader_study",
    "watch": "watch",
}


def refused_options(name):
    """Return the options that a command refuses, and why it does."""
    refused = CANNOT[REFUSING[name]]
    # "expected" is what a map given as --unlabelled does to counts: no option itself
    return {option: why for option, why in refused.items() if option != "expected"}


@pytest.mark.parametrize("name", REFUSING)
def test_a_design_that_is_refused_is_no_option_of_the_help(name):
    refused = set(refused_options(name))

    hidden = {p.name for p in command_named(name).params if getattr(p, "hidden", False)}

    assert hidden == refused


@pytest.mark.parametrize("name", REFUSING)
def test_a_design_that_is_refused_says_why(name, folder):
    files = ["state.json"] if name == "watch" else []
    for option, reason in refused_options(name).items():
        result = run(name, *files, folder / "data.csv", f"--{option}", "w")

        assert result.exit_code == 2
        assert reason.split(". ")[0] in " ".join(result.stderr.split())


def test_version_and_help():
    assert run("--version").stdout == f"trueness {trueness.__version__}\n"
    text = " ".join(run("--help").stdout.split())
    for code in (
        "0 success",
        "1 the output",
        "2 wrong input",
        "3 too few",
        "130 inter",
    ):
        assert code in text
    result = run("evaluatee")
    assert result.exit_code == 2
    assert "evaluate" in result.stderr
    assert run().exit_code in (0, 2)  # the help
    assert run("plan", "auc", "-h").exit_code == 0


def test_help_loads_no_analysis():
    code = (
        "import sys, trueness.cli\n"
        "try: trueness.cli.app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('numpy', 'scipy', 'duckdb', 'matplotlib')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.skipif(
    int(pa.__version__.partition(".")[0]) < 17, reason="Arrow 16 imports pandas itself"
)
def test_evaluate_of_a_file_loads_no_pandas():
    code = (
        "import sys, trueness.cli\n"
        "try: trueness.cli.app(['evaluate', 'sample:west_nile'])\n"
        "except SystemExit: pass\n"
        "heavy = ('pandas', 'polars', 'scipy.stats', 'matplotlib')\n"
        "print([m for m in heavy if m in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True
    )

    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_calibrate_judges_the_map_on_cases_it_has_not_seen(folder):
    line = f"calibrate {folder / 'data.csv'} --label y --score p --method isotonic"
    result = run(*words_of(line), "--json", "--seed", "3")
    brier = json.loads(result.stdout)["result"]["brier"]
    t = trueness.tally(pd.read_csv(folder / "data.csv"), label="y", score="p")
    assert brier["before"]["value"] == pytest.approx(trueness.brier(t).value)
    fitted = trueness.calibrate(t, method="isotonic")
    inside = trueness.brier(t.map(fitted)).value
    assert brier["in_sample"]["value"] == pytest.approx(inside)
    found = trueness.calibration_gain(t, method="isotonic", rng=3)
    assert brier["cross_fitted"]["value"] == found.cross_fitted.value
    assert brier["cross_fitted"]["value"] > brier["in_sample"]["value"]
    other = run(*words_of(line), "--json", "--seed", "4")
    assert json.loads(other.stdout)["result"]["brier"]["gain"] != brier["gain"]
    text = " ".join(run(*words_of(line)).stdout.split())
    assert "cases not used for fitting" in text
    assert re.search(r"(Calibration|calibration) (helps|makes)", text)
    assert "differ by" in text


@pytest.mark.parametrize(
    "question",
    ["threshold --at 0.5", "threshold --maximize f1", "evaluate", "threshold"],
)
def test_a_warning_is_a_note_of_the_command(question, tmp_path, recwarn):
    """Labels of high scores only: Python's own warning was shown to the shell."""
    score = np.repeat([0.9, 0.6, 0.4, 0.1], 40)
    label = (np.arange(160) % 4 < np.repeat([3, 2, 1, 1], 40)).astype(object)
    label[(score < 0.5) & (np.arange(160) % 3 > 0)] = None
    file = tmp_path / "cases.csv"
    pd.DataFrame({"y": label, "s": score}).to_csv(file, index=False)
    words = [*question.split(), str(file), "--label", "y", "--score", "s"]
    words += [] if "--" in question or question == "evaluate" else [DEFER]
    found = CliRunner().invoke(app, words)
    said = found.stdout + found.stderr
    assert found.exit_code == 0, said
    assert said.count("have no label and were left out, although") == 1
    assert "DoubtfulAssumptionWarning" not in said
    # of an older Narwhals on DuckDB; see the settings of pytest
    assert not [w for w in recwarn if "fetch_arrow_table" not in str(w.message)]
    if DEFER in words:  # its notes are not part of what is shown
        assert "Warning: " in found.stderr


DEFER = "--minimize=cost(fp=1,fn=9,defer=0.3)"


def test_weights_of_several_scores_are_told_once(folder):
    words = f"evaluate {folder}/{DATA} --score p --score q --weight leaf".split()
    assert run(*words).stdout.count("Cases are weighted") == 1


def test_metrics_say_whether_they_are_of_new_cases(folder):
    words = f"threshold {folder}/{DATA} --score p".split()
    assert "on new cases" not in run(*words).stdout
    assert re.search(r"metric +on new cases", run(*words, "--validate").stdout)
