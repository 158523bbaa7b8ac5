"""python tests/outside/irrCAC/make.py"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from write_vectors import Vectors


def ratings(**raters):
    """Ratings as text, one character an item; a point is a missing one."""
    return {
        rater: [None if letter == "." else ord(letter) - ord("0") for letter in text]
        for rater, text in raters.items()
    }


FOUR_RATERS = ratings(
    a="123321412...", b="1233224125..", c=".33323422513", d="12332441251."
)
FIVE_OBSERVERS = ratings(
    a="112.001122.0131",
    b="1130000.2110231",
    c="203000222100221",
    d=".13....0.10022.",
    e="2..0001.2....31",
)
GROUPS = ratings(
    a="12332141" + "2...22",
    b="1233224125..21",
    c=".3332342251333",
    d="1233244125" + "1.22",
)
GENDER = ratings(
    a="111112223111112", b="111121233111121", c="122311223122311", d="333311223333311"
)
TWO_RATERS = ratings(a="112243335441", b="212223335.44")
# sixty items of ours, of which R's irrCAC 1.0 prints five decimals
SIXTY_ITEMS = ratings(
    a="13..12324.11131112322.1111141411111133112123432123.34441.111",
    b="33241.32412113111231421111141421111.13112123231321134141.111",
    c="132.113...11121112322111113413111.1.3311212343212413.4411111",
    d="22412.2.41.11411123312211131112211113.2121234321132114311112",
)
OF_SIXTY_ITEMS = {
    "gwet": (0.58239, 0.05891),
    "fleiss": (0.49206, 0.06303),
    "conger": (0.49381, 0.06246),
    "brennan-prediger": (0.56296, 0.05857),
    "percent": (0.67222, 0.04393),
    "krippendorff": (0.50099, None),
}

# coefficient and standard error (None where it is not printed) by method
PRINTED = {
    "four": {
        "gwet": (0.775, 0.143), "fleiss": (0.761, None), "krippendorff": (0.743, None)
    },
    "five": {
        "gwet": (0.497, 0.122), "fleiss": (0.458, 0.120), "krippendorff": (0.481, None)
    },
    "groups": {
        "gwet": (0.685, 0.134), "fleiss": (0.657, 0.150), "krippendorff": (0.632, None)
    },
    "gender": {
        "gwet": (0.208, 0.091), "fleiss": (0.129, 0.141), "krippendorff": (0.143, None)
    },
    "two": {
        "gwet": (0.661, 0.184), "fleiss": (0.649, 0.191), "krippendorff": (0.665, None)
    },
}  # fmt: skip

vectors = Vectors(
    {
        "four": FOUR_RATERS,
        "five": FIVE_OBSERVERS,
        "groups": GROUPS,
        "gender": GENDER,
        "two": TWO_RATERS,
        "sixty": SIXTY_ITEMS,
        # Gwet (2014): two abstractors; two ways of a diagnosis
        "abstractors": [[13, 0, 0], [0, 20, 7], [0, 4, 56]],
        "diagnosis": [[40, 6, 4, 15], [4, 25, 1, 5], [4, 2, 21, 9], [17, 13, 12, 45]],
    }
)
for data, by_method in PRINTED.items():
    for method, (value, error) in by_method.items():
        inputs = {"ratings": f"${data}", "method": method}
        vectors.add("raters.value", inputs, value, 3)
        if error is not None:
            # 0.091 has two digits
            vectors.add("raters.se", inputs, error, 3 if error >= 0.1 else 2)
for method, (value, error) in OF_SIXTY_ITEMS.items():
    inputs = {"ratings": "$sixty", "method": method}
    vectors.add("raters.value", inputs, value, 5)
    if error is not None:
        vectors.add("raters.se", inputs, error, 4)
for table, value in (("abstractors", 0.796), ("diagnosis", 0.432)):
    inputs = {"table": f"${table}", "method": "cohen"}
    vectors.add("rater_table.value", inputs, value, 3)
inputs = {"table": "$diagnosis", "method": "cohen"}
vectors.add("rater_table.se", inputs, 0.046, 2)

vectors.write(
    __file__,
    suite="irrCAC",
    version="0.4.2, R 1.0",
    licence="GPL-3.0-or-later",
    source="Gwet (2014), Handbook of Inter-Rater Reliability; irrCAC's own tests",
    compared="Gwet's AC1, kappas of Fleiss, Cohen, Conger, Brennan-Prediger, per cent; "
    "alpha of Krippendorff; errors",
    differs=(
        "irrCAC cuts a symmetric interval at 1; ours is on a scale that ends there.",
        "irrCAC 0.4.4 of Python counts a missing rating as a category; ours does not.",
        "Our standard error of alpha is that of influence values, up to 5 % smaller.",
    ),
)
