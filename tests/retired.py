"""Which words do sentences that people see no longer use, and which instead?

One table fixes the terms; ``tests/test_words.py`` looks for the words on the left,
which are regular expressions, in every message, in the documentation of public names,
in the pages, and in the templates of the report and of the workbench.
"""

RETIRED = {
    "wishes?": "option",
    "Wishes": "ReportOptions",
    "homes": "table",
    "beyond chance(?! \\(|\\?)": "significantly",
    "[Ff]latters?": "is optimistic",
    "[Nn]obody (said|knows|named|looked|would)": "it is not known, there is none",
    "[Bb]eware": "keep in mind",
    "What holds it back|\\(stops it\\)": "limiting constraint",
    "leave 0 to 1": "fall outside 0 to 1",
    "no probabilities": "not probabilities",
    "[Nn]o option of|is no JSON": "has no option, is not valid JSON",
    "err together|judges (that )?err\\b|how the \\w+ err\\b": "make the same errors",
    "err independently": "make independent errors",
    "told (apart|from)|cannot be told|(would|that) tell[;,.]": "distinguish, decide",
    "tells? (them|two|the groups) apart": "distinguishes",
    "[Tt]ake turns": "the curves cross",
    "((?i:the|a|one|two|best|single|chosen|common|lower|upper|each|every|any|no) "
    "cuts?\\b)"
    "(?! (off|out))": "threshold",
    "[Ww]here (do I|to) cut": "where should the threshold be",
    "(makes?|make) the same cut": "flags the same cases",
    "[Pp]rices": "costs",
    "in the cells": "in the bins",
    "other cases expect": "new cases expect",
    "timid": "moderate",
    "taken to be": "assumed to be",
    "zones? of doubt": "deferred cases",
    "parts (them|the classes)": "separates",
    "counted where it lies": "read in place",
    "(judged|chosen) on the cases that": "tuned on the same data",
    "Doors turn": "input functions count your data",
    "asks for what cannot be": "is outside that range",
    "swap names": "are interchanged",
    "was the line": "the alarm is raised at",
    "knows its doubt": "allows for sampling error",
    "hang together": "how covariances are estimated",
    "(of|like) those of use": "those in use",
    "speaks? (for|against)": "is evidence for",
}
