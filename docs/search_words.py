"""Which how-to page answers a name of another library or profession?

The names are those of the tables that Python, the shell and the workbench read: what
is here under another name (``CALLS``), and what is not, with the call that comes
nearest (``NEAREST``). Here stands the page of each call. The build of the docs adds the
names to the index entries of these pages, so that the search finds them, and links the
page in the table "What others call it".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import trueness
from trueness._core.not_computed import NEAREST
from trueness._core.synonyms import CALLS

HOWTO = Path(__file__).parent / "howto"
PHRASES = Path(__file__).parent / "search_phrases.txt"
ENTRIES = re.compile(r"^```\{index\} (.*)$", re.M)

# by the beginning of a call, where the page is not called after the room of its
# function; the first that fits counts
PAGE_OF_CALL: Mapping[str, str] = {
    "evaluate": "reports",
    "confusion": "reports",
    "attempts": "evals",
    "look": "data_messy",
    "leaves": "trees",
    "tally(None": "expected_labels",
    "tally(trueness.scan": "data",
    "tally": "sampling",
    "at_horizon": "sampling",
    "at_threshold(y_true, y_score, threshold=0.5, prevalence": "sampling",
    "at_threshold(y_true, y_score, threshold": "ranking_how_sure",
    "at_threshold": "ranking_how_sure",
    "estimate": "ranking_how_sure",
    "multiclass": "estimators",
    "simulate_tally": "fermi",
    "wisdom_of_crowds": "ensembles",
    "compare_groups": "comparison_groups",
    "plan_auc": "ranking_planning",
    "plan_rate": "ranking_planning",
    "plan_labels": "expected_labels",
    "prevalence": "nogold_judges",
    "tipping_point": "expected_labels",
    "samples": "data",
    "youden": "threshold",
    "save_map": "data",
    "load_map": "data",
    "estimators.leaf_report": "trees",
    "estimators.prune": "trees",
    "plots.site_forest": "sites",
    "plots.reliability": "calibration",
    "plots": "ranking",
}
PAGE_OF_ROOM = {"metrics": "reports"}

# names and terms of the five papers that lead to their own pages
WORDS_OF_PAPERS: Mapping[str, tuple[str, ...]] = {
    "kim2021": (
        *(
            "Kim 2021",
            "Stolovitzky",
            "Kim Stolovitzky",
            "Fermi-Dirac paper",
            "fermions",
        ),
        *("rank-conditioned class probability", "class-conditioned rank probability"),
        "calibrated probabilistic output",
    ),
    "keith2012": (
        *("Keith 2012", "Keith Davey Boyd", "bit code", "ranking criteria"),
        *("swine flu", "chloroplast localisation", "SNP genotypes"),
    ),
    "sameni2025": (
        *("Sameni 2025", "Sameni", "geometry of ROC curves", "iso-cost lines"),
        *("class leakage", "positive-to-negative class leakage"),
    ),
    "zhang2024": (
        *("Zhang 2024", "Zhang", "entropic object", "golf example", "tree classifier"),
        "entropic maximum likelihood estimator",
    ),
    "ramazi": (
        *("Ramazi", "Mari Oriyad", "0-1 ILP formulation", "optimal accuracy threshold"),
    ),
}

# whoever types one of these asks for an interval, whatever the call
INTERVAL_WORDS = {"ci", "confidence", "interval"}
PAGE_OF_INTERVALS = "ranking_how_sure"


def page_of_call(call: str) -> str:
    """Return the name of the how-to page that shows a call."""
    for beginning, page in PAGE_OF_CALL.items():
        if call.startswith(beginning):
            return page
    name = call.partition("(")[0]
    in_a_room = "." in name
    room = name.partition(".")[0] if in_a_room else _room_of(name)
    return PAGE_OF_ROOM.get(room, room)


def _room_of(name: str) -> str:
    return trueness._MODULES[name].removeprefix("trueness.").partition(".")[0]


def entries_of(text: str) -> list[str]:
    """Return the index entries that a page has, without the marks of main entries."""
    return [
        entry.strip().removeprefix("!")
        for line in ENTRIES.findall(text)
        for entry in line.split(",")
    ]


def phrases_of_pages() -> dict[str, list[str]]:
    """Return the phrases of ``search_phrases.txt`` by how-to page."""
    found: dict[str, list[str]] = {}
    page = ""
    for line in PHRASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            page = line.strip("[]")
        elif line and not line.startswith("#"):
            typed = (phrase.strip() for phrase in line.split(","))
            found.setdefault(page, []).extend(filter(None, typed))
    return found


def phrases() -> Iterator[tuple[str, str]]:
    """Return what people type, and every name of another library, with its page."""
    for page, typed in phrases_of_pages().items():
        for phrase in typed:
            yield phrase, page
    for call, synonyms in (*CALLS.items(), *NEAREST.items()):
        page = page_of_call(call)
        for name in synonyms:
            words = name.split("_")
            asks_for_interval = page == "ranking" and INTERVAL_WORDS & set(words)
            yield " ".join(words), PAGE_OF_INTERVALS if asks_for_interval else page


def words_of_pages() -> dict[str, list[str]]:
    """Return the entries to add to each page: names that no page has by itself."""
    known = {
        entry.casefold()
        for page in HOWTO.glob("*.md")
        for entry in entries_of(page.read_text(encoding="utf-8"))
    }
    found: dict[str, list[str]] = {}
    for phrase, page in phrases():
        if phrase.casefold() not in known:
            known.add(phrase.casefold())
            found.setdefault(page, []).append(phrase)
    return found


def with_search_words(docname: str, text: str) -> str:
    """Return the text of a page, with more index entries."""
    folder, _, page = docname.partition("/")
    if folder == "papers" and page in WORDS_OF_PAPERS:
        return f"{text}\n```{{index}} {_main_entries(WORDS_OF_PAPERS[page])}\n```\n"
    added = words_of_pages().get(page, []) if folder == "howto" else []
    if not added:
        return text
    title, _, body = text.partition("\n\n")
    return f"{title}\n\n```{{index}} {_main_entries(added)}\n```\n\n{body}"


def _main_entries(phrases: Iterable[str]) -> str:
    return ", ".join(f"!{phrase}" for phrase in phrases)
