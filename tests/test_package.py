"""The wheel and the sdist hold everything, and a bare install says what is missing."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import trueness

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
pytestmark = pytest.mark.package


def tracked(*folders):
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("this is not a clone, so nobody knows which files belong to it")
    return {name for name in listed.stdout.split("\n") if name}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the sdist, and the wheel from that sdist: a file missing in one shows."""
    if not os.environ.get("CI"):
        pytest.importorskip("build")
        pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", str(out)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def test_the_sdist_holds_every_file(built):
    with tarfile.open(built[0]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    left_out = {name for name in tracked() if not name.startswith(".git")} - held

    assert not left_out


def test_the_wheel_holds_every_module_and_the_samples(built):
    with zipfile.ZipFile(built[1]) as archive:
        held = set(archive.namelist())
    modules = {name.removeprefix("src/") for name in tracked("src")}
    samples = {f"trueness/sample_data/{n}" for n in ("west_nile.csv.gz", "no_gold")}

    assert not modules - held

    for sample in samples:
        assert any(name.startswith(sample) for name in held)

    assert not {n for n in held if n.startswith(("tests/", "docs/", "examples/"))}


@pytest.fixture(scope="module")
def bare(built, tmp_path_factory):
    """Install the wheel where there is nothing but what it depends on."""
    import importlib.metadata as metadata

    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    site = next((home / "lib").glob("python*")) / "site-packages"
    for needed in ("numpy", "scipy", "narwhals"):
        files = metadata.files(needed)
        for top in {f.parts[0] for f in files if not f.parts[0].startswith(".")}:
            (site / top).symlink_to(metadata.distribution(needed).locate_file(top))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, str(built[1])], check=True, capture_output=True)
    return home / "bin"


def run(*command, **keywords):
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CI")}
    return subprocess.run(
        [str(word) for word in command],
        **{"capture_output": True, "text": True, "env": clean, "cwd": "/", **keywords},
    )


def test_a_bare_install_answers(bare):
    done = run(bare / "trueness", "--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"trueness {trueness.__version__}\n"

    code = "import trueness as t; print(t.auc(t.tally([0, 1, 1], [1, 2, 3])).value)"

    assert run(bare / "python", "-c", code).stdout == "1.0\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["demo"], ["report", "x.csv"]])
def test_the_bare_command_line_says_what_to_install(bare, words):
    done = run(bare / "trueness", *words)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "The command line needs typer, which is not installed. "
        'Type: pip install "trueness[cli]".\n'
    )


MISSING = {
    "t.plots.roc(a)": ("matplotlib.pyplot", "plots"),
    "t.reports.html(a)": ("jinja2", "report"),
    "t.estimators.Calibrator": ("sklearn", "sklearn"),
    "t.scan('x.csv')": ("duckdb", "files"),
    "a.write('x.parquet')": ("pyarrow", "files"),
    "open('y.parquet', 'w').close(); t.read_tally('y.parquet')": ("pyarrow", "files"),
    "t.latent_class(p, draws=200, rng=0).to_datatree()": ("xarray", "bayes"),
}


@pytest.mark.parametrize("code", MISSING)
def test_every_missing_extra_is_one_sentence(bare, code):
    library, extra = MISSING[code]

    assert extra in PROJECT["optional-dependencies"]

    script = (
        "import trueness as t, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "a = t.tally([0, 1, 1, 0], [1, 2, 3, 4])\n"
        "p = t.simulate_panel(120, 60, {'A': .9, 'B': .8, 'C': .85}, rng=1)\n"
        "p = p.vote({'A': 0, 'B': 0, 'C': 0}).without_labels()\n"
        f"try:\n    {code}\n"
        "except ImportError as error:\n    print(error)"
    )
    done = run(bare / "python", "-c", script)

    assert done.stdout == (
        f"This needs {library}, which is not installed. "
        f'Type: pip install "trueness[{extra}]".\n'
    ), done.stderr
