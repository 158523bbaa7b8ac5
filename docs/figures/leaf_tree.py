"""A tree for breast cancer, its leaves coloured by confidence on new cases."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import trueness.estimators
import trueness.plots


def chart():
    data = load_breast_cancer()
    train, new, y_train, y_new = train_test_split(
        data.data, data.target, test_size=0.5, random_state=0
    )
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(train, y_train)
    report = trueness.estimators.leaf_report(tree, new, y_new)
    return trueness.plots.leaf_tree(tree, report, names=data.feature_names)
