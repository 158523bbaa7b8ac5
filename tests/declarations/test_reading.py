"""A declaration is hostile input: size, depth, kinds, scripts, paths."""

import copy
import json

import pytest

import trueness
from trueness.declarations import reading
from trueness.declarations.reading import read_declaration


@pytest.fixture
def content(declaration):
    return json.loads(json.dumps(declaration.to_dict()))


def refuses(source, match):
    with pytest.raises(trueness.InputError, match=match):
        trueness.verify(source)


def test_all_three_files_are_written_and_two_are_read(tmp_path, declaration):
    for name in ("d.html", "d.json", "d.md"):
        declaration.write(tmp_path / name)

    for name in ("d.html", "d.json"):
        assert read_declaration(tmp_path / name) == declaration
    with pytest.raises(trueness.InputError, match=r"\.html, \.json or \.md"):
        declaration.write(tmp_path / "d.pdf")


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    large = tmp_path / "large.json"
    large.write_text(" " * 1001)

    refuses(large, "at most")


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 5_000, '{"trueness": "declaration", "x": ' + "[" * 50],
)
def test_deep_nesting_is_refused(tmp_path, text):
    deep = tmp_path / "deep.json"
    deep.write_text(text)

    refuses(deep, "nested at most")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "does not hold a declaration"),
        ("{", "does not hold a declaration"),
        ("[]", "must be an object"),
        ('{"trueness": "counts"}', "trueness must be"),
        ('{"trueness": "declaration", "version": 99}', "version 99"),
        ('{"trueness": "declaration", "version": NaN}', "no number NaN"),
        ('{"trueness": "declaration", "trueness": "declaration"}', "must occur once"),
        ('{"version": ' + "9" * 5000 + "}", "trueness must be|does not hold"),
    ],
)
def test_what_is_no_declaration_is_named(tmp_path, text, match):
    file = tmp_path / "no.json"
    file.write_text(text)

    refuses(file, match)


def test_a_page_without_data_is_named(tmp_path):
    page = tmp_path / "no.html"
    page.write_text("<html><script>alert(1)</script></html>")

    refuses(page, "one block of data")


def wrong_kinds(content):
    """Put a value of another kind in the place of each member, one by one."""
    wrong = ([], {}, "text", -1, None, True, 1e308, [[[]]])

    def places(part, path=()):
        if isinstance(part, dict):
            for name, inner in part.items():
                yield (*path, name)
                yield from places(inner, (*path, name))
        elif isinstance(part, list):
            for place, inner in list(enumerate(part))[:2]:
                yield (*path, place)
                yield from places(inner, (*path, place))

    every = list(places(content))
    for number, path in enumerate(every):
        forged = copy.deepcopy(content)
        holder = forged
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = wrong[number % len(wrong)]
        yield path, forged


def test_any_wrong_kind_gives_an_error_or_an_answer(content):
    """Nothing but an InputError, or a verification, whatever stands anywhere."""
    forged = list(wrong_kinds(content))

    for path, one in forged[::3]:
        try:
            trueness.verify(one)
        except (trueness.InputError, trueness.NotEnoughCases):
            continue
        except Exception as err:
            raise AssertionError(path) from err


def test_no_file_that_a_claim_names_is_opened(content, tmp_path):
    rule = tmp_path / "rule.json"
    rule.write_text("{}")
    content["claims"][0]["claim"] = f"recall >= 0.5 at {rule}"

    answer = trueness.verify(content)

    assert not answer
    assert any("names a file" in str(failure) for failure in answer.failures)


def test_lists_have_a_greatest_length(content):
    content["thresholds"] = [0.1] * 1000

    refuses(content, "at most 20")


def test_text_of_the_author_cannot_become_script(cases, tmp_path):
    label, score, _ = cases
    evil = "</script><img src=x onerror=alert(1)>\u2028<!--"
    page = tmp_path / "evil.html"

    trueness.declare(
        label, score, page, title=evil, statements={"unit": evil}, at=0.3,
        claims="auc >= 0.5",
    )  # fmt: skip

    text = page.read_text()
    assert "<img" not in text
    assert text.count("</script>") == 2
    assert trueness.verify(page)
    assert read_declaration(page).title == evil


def test_markdown_escapes_text(cases):
    label, score, _ = cases

    text = trueness.declare(label, score, title="a | <b> `c`\n# d").to_markdown()

    assert r"a \| \<b\> \`c\` \# d" in text
    assert "\n# d" not in text


def test_markdown_has_a_model_index(declaration):
    yaml = pytest.importorskip("yaml")

    _, head, _ = declaration.to_markdown().split("---\n", 2)

    (model,) = yaml.safe_load(head)["model-index"]
    metrics = model["results"][0]["metrics"]
    assert model["name"] == declaration.title
    assert metrics[0]["type"] == "recall"
    assert 0 < metrics[0]["value"] < 1
