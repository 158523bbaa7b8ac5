"""Folds of a cross-validation: the cases that each model scored.

Folds are not groups: every fold was scored by another model, trained on the other
folds. Scores are not pooled; a measure is the mean of its values in the folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import plain
from trueness._core.numbers import counted
from trueness._core.records import Record
from trueness.counts.values import Panel, Tally


@final
@dataclass(frozen=True, repr=False)
class Folds(Record):
    """The counts of each fold, scored by the model that was trained on the others.

    Attributes
    ----------
    parts : tuple of Tally, or of Panel
        A tally for each fold; panels where several models were trained on the same
        folds.

    Examples
    --------
    >>> Folds([Tally([1, 0], pos=[2, 1], neg=[0, 2]), Tally([9], pos=[3], neg=[1])])
    Folds: 2 folds, 9 cases
    """

    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Check that these are folds of one cross-validation."""
        parts = tuple(self.parts)
        object.__setattr__(self, "parts", parts)
        kinds = {type(fold) for fold in parts}
        if len(parts) < 2 or kinds not in ({Tally}, {Panel}):
            raise InputError(
                "Folds needs two or more tallies, or panels, one for each fold; found "
                f"{counted(len(parts), 'part')}.",
                example=PythonCode("trueness.cross_validate(model, X, y)"),
            )
        if kinds == {Panel} and len({fold.names for fold in parts}) > 1:
            raise InputError("Every fold needs the same models, in the same order.")

        _check_both_classes(parts)
        _check_clusters_apart(parts)

    def __len__(self) -> int:
        """Count the folds."""
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        """Return the folds."""
        return iter(self.parts)

    def __getitem__(self, name: str) -> Folds:
        """Return the folds of one model alone."""
        return Folds(tuple(fold[name] for fold in self.parts))

    def __repr__(self) -> str:
        """Say how much there is in one line."""
        cases = sum(int(fold.n) for fold in self.parts)
        models = f" by {counted(len(self.names), 'model')}" if self.names else ""
        return f"Folds: {len(self)} folds, {counted(cases, 'case')}{models}"

    @property
    def names(self) -> tuple[str, ...]:
        """Name the models, where there are several."""
        return self.parts[0].names if isinstance(self.parts[0], Panel) else ()

    def pooled(self) -> Any:
        """Pool the scores of all folds, as if one model had produced them.

        A threshold or a map is chosen on these; no measure should be.
        """
        first, *others = self.parts
        return sum(others, start=first)


def _check_both_classes(parts: tuple[Any, ...]) -> None:
    """Stop at a fold that holds one class only."""
    for number, fold in enumerate(parts, 1):
        if fold.n_pos and fold.n_neg:
            continue
        missing = "negatives" if fold.n_pos else "positives"
        raise NotEnoughCases(
            f"Fold {number} has no {missing}. Use fewer folds, or folds that keep the "
            "proportion of positives.",
            option="cv",
            example=PythonCode("StratifiedKFold(5)"),
        )


def _check_clusters_apart(parts: tuple[Any, ...]) -> None:
    """Stop at a cluster whose cases are in two folds."""
    fold_of_cluster: dict[Any, int] = {}
    for number, fold in enumerate(parts, 1):
        if fold.clusters is None:
            continue
        for name in fold.clusters.names:
            earlier_fold = fold_of_cluster.setdefault(name, number)
            if earlier_fold != number:
                raise InputError(
                    f"Folds {earlier_fold} and {number} share cluster {plain(name)!r}, "
                    "so a model was tested on a cluster that it was trained on. Keep "
                    "each cluster in one fold.",
                    option="cv",
                    example=PythonCode("StratifiedGroupKFold(5), cluster=..."),
                )
