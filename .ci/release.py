"""Is this ready to be published? Build, install in a clean place, run the README.

    make release-check

The wheel is built from the sdist and installed, with the extra of the command line,
in an environment that holds nothing else. There the commands of the README run, and
print what it shows. At the end stands what changes on the day of release.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


def run(*command: object, cwd: Path) -> str:
    """Run a command; stop with what it said if it fails."""
    words = [str(word) for word in command]
    print("$", shlex.join([Path(words[0]).name, *words[1:]]), flush=True)
    done = subprocess.run(  # noqa: S603 - commands of this file and of the README
        words, cwd=cwd, env=CLEAN, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nThis failed; nothing may be published.")
    return done.stdout


def versions() -> set[str]:
    """Which versions do the files name? One, if all agree."""
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    code = (ROOT / "src" / "trueness" / "__init__.py").read_text()
    return {
        re.search(pattern, text, re.MULTILINE)[1]
        for pattern, text in (
            (r'^__version__ = "(.*)"', code),
            (r"^version: (.*)", citation),
            (r'^  version: "(.*)"', recipe),
        )
    }


def dependencies() -> tuple[set[str], set[str]]:
    """Give what pyproject.toml and what the conda recipe needs at run time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    needed = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.MULTILINE)[1]
    found = {
        line.removeprefix("    - ").replace(" ", "") for line in needed.split("\n")
    }
    python = f"python{project['requires-python']}"
    return {python, *project["dependencies"]}, found - {""}


def readme_in(folder: Path, out: Path) -> None:
    """Run the shell and Python of the README in an environment."""
    shell = re.search(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
    lines = [x for x in shell.split("\n") if x.startswith("trueness ")]
    lines += re.findall(r"`(trueness report [^`]*)`", README)
    printed = ""
    for line in ["trueness demo", *lines]:
        name, *words = shlex.split(line, comments=True)
        printed += run(folder / name, *words, cwd=out)
    shown = re.search(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
    if shown not in printed:
        sys.exit("The README shows another table than its command prints.")
    code = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    print(run(folder / "python", "-c", "\n".join(code), cwd=out))


def main() -> None:
    """Check, build, install, run, and say what is left."""
    if len(versions()) != 1:
        sys.exit(f"The files name several versions: {sorted(versions())}.")
    project, recipe = dependencies()
    if project != recipe:
        sys.exit(f"pyproject.toml and conda/recipe.yaml differ: {project ^ recipe}.")
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        run(sys.executable, "-m", "build", "-o", out, ROOT, cwd=ROOT)
        wheel = next(out.glob("*.whl"))
        venv.create(out / "clean", with_pip=True)
        folder = out / "clean" / ("Scripts" if os.name == "nt" else "bin")
        run(folder / "python", "-m", "pip", "install", "-q", f"{wheel}[cli]", cwd=out)
        readme_in(folder, out)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    heading = "## On the day of release"
    print(heading.removeprefix("## ") + contributing.partition(heading)[2])


if __name__ == "__main__":
    main()
