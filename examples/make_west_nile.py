"""Make the West Nile samples from the prepared data of the West Nile challenge.

    python examples/make_west_nile.py west_nile.csv.bz2

Each line of that file is a mosquito trap, standardised, with `y` saying whether the
virus was found; a trap with many mosquitos is repeated. A repeated record is one case,
so it is kept once here, with the number of its copies in column `copies`, and all
records with the same features stay in the same fold: no model ever scores a case it has
seen.

Written beside this script:

west_nile.csv.gz      year, month, virus (1 = found), five models' scores, copies
west_nile_leaves.csv  leaf, virus, n: the leaves of a small tree, counted on the half
                      of the records that the tree was not grown on
"""

import sys
from pathlib import Path

import pandas as pd
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

HERE = Path(__file__).parent
MODELS = {
    "logistic": LogisticRegression(C=0.1, max_iter=2000),
    "forest": RandomForestClassifier(300, min_samples_leaf=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(
        learning_rate=0.03, max_iter=150, max_leaf_nodes=12, random_state=0
    ),
    "neighbours": KNeighborsClassifier(25),
    "adaboost": AdaBoostClassifier(n_estimators=100, random_state=0),
}


def records(path):
    """Keep every record once, with the number of its copies."""
    rows = pd.read_csv(path)
    columns = list(rows.columns)
    once = rows.groupby(columns, sort=False).size().rename("copies").reset_index()
    once["y"] = (once["y"] == "Yes").astype(int)
    once["group"] = once.groupby(columns[:-1], sort=False).ngroup()
    return once


def codes(column, first, step):
    """Undo the standardisation of an equally spaced calendar column."""
    return first + step * column.rank(method="dense").sub(1).astype(int)


def predictions(data, features):
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    parts = list(folds.split(data[features], data["y"], data["group"]))
    out = pd.DataFrame(
        {
            "year": codes(data["X1"], 2007, 2),
            "month": codes(data["X2"], 5, 1),
            "virus": data["y"],
        }
    )
    for name, model in MODELS.items():
        scores = cross_val_predict(
            model, data[features], data["y"], cv=parts, method="predict_proba"
        )
        out[name] = scores[:, 1].round(4)
        print(name, "done")
    return out.assign(copies=data["copies"])


def leaves(data, features):
    halves = StratifiedGroupKFold(2, shuffle=True, random_state=1)
    grow, check = next(halves.split(data[features], data["y"], data["group"]))
    tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0)
    tree.fit(data[features].iloc[grow].to_numpy(), data["y"].iloc[grow])
    held_out = data.iloc[check]
    node = tree.apply(held_out[features].to_numpy())
    counted = pd.DataFrame({"leaf": node, "virus": held_out["y"]})
    return (
        counted.value_counts().rename("n").reset_index().sort_values(["leaf", "virus"])
    )


def main(path):
    data = records(path)
    features = [c for c in data.columns if c.startswith("X")]
    packed = {"method": "gzip", "mtime": 0}
    predictions(data, features).to_csv(
        HERE / "west_nile.csv.gz", index=False, compression=packed
    )
    leaves(data, features).to_csv(HERE / "west_nile_leaves.csv", index=False)


if __name__ == "__main__":
    main(sys.argv[1])
