"""Which words do sentences that people see no longer use, and which instead?

One table fixes the terms; a test greps the command line, the report and the sentences
of the rooms for the words on the left, which are regular expressions.
"""

RETIRED = {
    "wishes?": "option",
    "Wishes": "ReportOptions",
    "took": "guessed",
    "homes": "table",
    "beyond chance": "significantly",
    "[Ff]latters?": "is optimistic",
    "[Nn]obody (said|knows|named) (what|who)": "it is not known",
    "[Bb]eware": "keep in mind",
    "What holds it back": "Limiting constraint",
    "leave 0 to 1": "fall outside 0 to 1",
    "no probabilities": "not probabilities",
    "err together": "make the same errors",
    "told apart with": "differ",
    "cannot be told apart": "do not differ significantly",
    "take turns": "the curves cross",
    "the cut": "the threshold",
    "chosen cut": "chosen threshold",
    "best cut": "best threshold",
    "[Pp]rices come in pairs": "both costs are needed",
    "in the cells": "in the bins",
    "[Ww]here do I cut": "where should the threshold be",
    "other cases expect": "new cases expect",
    "timid": "moderate",
}
