"""How is this used with scikit-learn? The door for its estimators.

Each module of this folder holds one estimator or function.
"""

__all__: list[str] = []
