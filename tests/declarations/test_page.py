"""The page: it checks itself in a browser without a network, as Python does."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import trueness
from forged_declarations import (
    count_forgeries,
    last_digit_forgeries,
    table_forgeries,
)
from trueness.declarations.records import DOES_NOT

SCRIPT = Path(trueness.__file__).parent / "declarations" / "verify.js"


@pytest.fixture(scope="module")
def page_file(declaration, tmp_path_factory):
    return declaration.write(tmp_path_factory.mktemp("page") / "declaration.html")


def changed_page(page_file, tmp_path, old, new):
    text = page_file.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    forged = tmp_path / "forged.html"
    forged.write_text(text.replace(old, new), encoding="utf-8")
    return forged


def test_the_page_follows_from_its_data(page_file):
    assert trueness.verify(page_file)


def test_line_ends_and_spaces_change_nothing(page_file, tmp_path):
    forged = tmp_path / "windows.html"
    text = page_file.read_text(encoding="utf-8")
    forged.write_bytes(text.replace("\n", "\r\n").encode())

    assert trueness.verify(forged)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hospital 2</th>", "hospital 9</th>"),
        ("Adults with a cough of more than two weeks.</td>", "Everybody.</td>"),
        ('<td class="holds">holds</td>', "<td>fails</td>"),
        ('<ul class="summary">', '<ul class="summary" hidden>'),
        ('"use strict";', '"use strict"; verify = () => [];'),
        ("default-src &#39;none&#39;", "default-src *"),
        ("<main", "<img src='https://example.org/x'><main"),
    ],
)
def test_a_changed_text_or_script_of_the_page_is_named(
    page_file, tmp_path, old, new
):  # fmt: skip
    answer = trueness.verify(changed_page(page_file, tmp_path, old, new))

    assert answer.verdict == DOES_NOT
    (failure,) = answer.failures
    assert failure.name == "text of the page"


def test_the_page_loads_nothing(page_file):
    text = page_file.read_text(encoding="utf-8")

    assert "default-src &#39;none&#39;" in text
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert len(text) < 200_000


def opened(browser, file, **options):
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(file.as_uri())
    return page, problems


def test_the_page_checks_itself_without_a_network(browser, page_file):
    page, problems = opened(browser, page_file)

    assert problems == []
    assert "Your browser has checked this page" in page.locator("#check").inner_text()
    words = page.locator("#checks li").all_text_contents()
    assert len(words) > 80
    assert not any("does not follow" in word for word in words)


@pytest.mark.parametrize("width", [1400, 400])
def test_the_page_fits_its_window(browser, page_file, width):
    page, _ = opened(browser, page_file, viewport={"width": width, "height": 900})

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_names_a_forged_number(browser, page_file, tmp_path):
    text = page_file.read_text(encoding="utf-8")
    match = re.search(r'"measure":"recall","threshold":0.3,"value":([\d.]+)', text)
    forged = tmp_path / "forged.html"
    forged.write_text(text.replace(match[0], match[0].replace(match[1], "0.99")))

    page, _ = opened(browser, forged)

    told = page.locator("#check").inner_text()
    assert told.startswith("Does not follow from the counts: recall at 0.3.")


@pytest.fixture(scope="module")
def run_script(tmp_path_factory):
    """Return a function that runs the script of the page in Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    folder = tmp_path_factory.mktemp("script")
    module = folder / "verify.mjs"
    module.write_text(SCRIPT.read_text(encoding="utf-8") + "\nexport { verify };\n")
    runner = folder / "run.mjs"
    runner.write_text(
        f'import {{ verify }} from "{module.as_uri()}";\n'
        'import { readFileSync } from "node:fs";\n'
        'const all = JSON.parse(readFileSync(process.argv[2], "utf8"));\n'
        "console.log(JSON.stringify(all.map(verify)));\n"
    )

    def run(contents):
        file = folder / "all.json"
        file.write_text(json.dumps(contents))
        answer = subprocess.run(
            [node, str(runner), str(file)], capture_output=True, text=True, check=True
        )
        return json.loads(answer.stdout)

    return run


DESIGNS = {
    "plain": {},
    "prevalence": {"prevalence": 0.05},
    "case-control": {"sampling": "case-control"},
    "exact": {"private": 1},
    "k of 20": {"private": 20},
    "exact table": {"exact_table": True},
    "agreement": {"agreement": True},
    "level": {"level": 0.9},
}


@pytest.mark.parametrize("design", DESIGNS)
def test_script_and_python_agree(run_script, cases, design):
    label, score, hospital = cases
    options = dict(DESIGNS[design])
    keywords = {k: options.pop(k) for k in ("prevalence", "sampling") if k in options}
    declaration = trueness.declare(
        trueness.tally(label, score, **keywords),
        at=[0.3, 0.97],
        claims=["recall >= 0.7 at 0.3", "auc >= 0.8 in every hospital"],
        groups={"hospital": trueness.tally(label, score, by=hospital, **keywords)},
        **options,
    )

    (checks,) = run_script([declaration.to_dict()])

    wrong = [name for name, word in checks if word == DOES_NOT]
    assert wrong == []
    assert trueness.verify(declaration)
    followed = [word for _, word in checks if word.startswith("follows")]
    assert len(followed) > 30


def test_script_names_the_forgeries_that_python_names(run_script, declaration):
    """Where the script checks a statement at all, it agrees with Python."""
    content = json.loads(json.dumps(declaration.to_dict()))
    forged = [
        *last_digit_forgeries(content), *count_forgeries(content),
        *table_forgeries(content),
    ]  # fmt: skip

    unnoticed = [
        checks for checks in run_script(forged)
        if not any(word == DOES_NOT for _, word in checks)
    ]  # fmt: skip

    assert len(forged) > 50
    assert unnoticed == []
