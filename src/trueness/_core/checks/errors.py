"""Which error or warning is meant?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trueness._core.checks.advice import PythonCode as PythonCode
from trueness._core.checks.advice import python_advice


class _OptionError(ValueError):
    """An error whose message says what was needed and what was found.

    What to type or click instead depends on the face that shows the error, so it is
    kept as data. As text, the error speaks to somebody who writes Python: the message,
    and a sentence made of ``option``, ``choices`` and ``example``.

    Parameters
    ----------
    message
        What was needed, and what was found.
    option
        The parameter that the error is about, by its name in Python (``"label"``). The
        shell calls it ``--label``; a page, the field of that name.
    choices
        The values that the option can take here.
    example
        A value of the option that would work; or ``PythonCode``, a call for readers of
        Python only.

    Examples
    --------
    >>> error = InputError("level must be below 1.", option="level", example=0.95)
    >>> error.message, error.option
    ('level must be below 1.', 'level')
    >>> str(error)
    'level must be below 1. Type level=0.95.'
    """

    # a class that also derives from an error of Python's may not pass by __init__
    option: str | None = None
    choices: tuple[Any, ...] = ()
    example: object = None

    def __init__(
        self,
        message: str = "",
        *,
        option: str | None = None,
        choices: Iterable[Any] = (),
        example: object = None,
    ) -> None:
        super().__init__(message)
        self.option = option
        self.choices = tuple(choices)
        self.example = example

    def __str__(self) -> str:
        """Return the message and what to type in Python."""
        return f"{self.message} {python_advice(self)}".strip()

    @property
    def message(self) -> str:
        """Return what was needed and what was found, in words for every face."""
        return str(self.args[0]) if self.args else ""

    def rephrased(
        self, *, message: str | None = None, option: str | None = None
    ) -> _OptionError:
        """Return an error of this kind with another message or option."""
        return type(self)(
            self.message if message is None else message,
            option=self.option if option is None else option,
            choices=self.choices,
            example=self.example,
        )

    def with_file_name(self, place: str, name: str) -> _OptionError:
        """Return an error of this kind that names a file as people know it."""
        return self.rephrased(message=self.message.replace(place, name))


class InputError(_OptionError):
    """The input is wrong; ``option``, ``choices`` and ``example`` say how to correct
    it.
    """


class NotEnoughCases(_OptionError):  # noqa: N818 - a name that reads as a sentence
    """The input is valid, but has too few cases for this question."""


class Infeasible(InputError):  # noqa: N818 - a name that reads as a sentence
    """No threshold meets the constraints; the message says how close one can get."""


class UnsupportedDesign(InputError):  # noqa: N818 - a name that reads as a sentence
    """The cases are weighted, and this question is one about whole cases."""


class NotInstalled(ModuleNotFoundError, InputError):  # noqa: N818 - reads as a sentence
    """A library that comes with an extra is missing; the message says which extra."""


class NotConvergedWarning(UserWarning):
    """An iteration stopped before it converged; the record says so too."""


class OptimisticWarning(UserWarning):
    """The numbers come from the cases that the model was fitted on."""


class CleanedWarning(UserWarning):
    """Values of a messy file were cleaned; the message says how."""


class DoubtfulAssumptionWarning(UserWarning):
    """An assumption of the method looks wrong in these data."""
