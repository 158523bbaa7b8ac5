"""Which error or warning is meant?"""

from __future__ import annotations


class InputError(ValueError):
    """The input is wrong; the message says what to type instead."""


class NotEnoughCases(ValueError):  # noqa: N818 - a name that reads as a sentence
    """The input is right, but holds too few cases for this question."""


class Infeasible(InputError):  # noqa: N818 - a name that reads as a sentence
    """No threshold meets the constraints; the message says how close one can get."""


class NeedsWholeCases(InputError):  # noqa: N818 - a name that reads as a sentence
    """The cases are weighted, and this question is one about whole cases."""


class NotInstalled(ModuleNotFoundError, InputError):  # noqa: N818 - reads as a sentence
    """A library that comes with an extra is missing; the message says which extra."""


class NotConverged(UserWarning):
    """An iteration stopped before it reached its goal; the record says so too."""


class Optimistic(UserWarning):
    """The numbers rest on the very cases that the model was made from."""


class Cleaned(UserWarning):
    """Values of a messy file were understood; the message says how."""


class DoubtfulAssumption(UserWarning):
    """What a method takes for granted looks wrong in these data."""
