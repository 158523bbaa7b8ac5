"""What happens around a command: its words are read, its answer is shown.

A command is a function from options to a :class:`CommandAnswer`. ``ShellCommand`` is
the class that Typer makes of it: before the work it checks where output goes, after it
the answer is shown, and an error ends with a sentence and an exit code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from trueness._core.checks.options import fraction
from trueness.cli import _shell as shell
from trueness.cli._help import hide_types
from trueness.data.cleaning import collected_remarks

_CAPACITY = '--subject-to "flagged <= 100"'
_FLOOR = '--subject-to "recall >= 0.9"'
# what to type for the options of other tools, where a command has that option
OPTIONS_OF_OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("--capacity", "--budget", "--top-k", "--max-alerts"), _CAPACITY),
    **dict.fromkeys(("--min-recall", "--min-sensitivity", "--recall"), _FLOOR),
    **dict.fromkeys(("--truth", "--y-true", "--outcome"), "--label COLUMN"),
    **dict.fromkeys(("--pred", "--y-score", "--prob", "--model"), "--score COLUMN"),
    **dict.fromkeys(("--pos-label", "--positive-class"), "--positive VALUE"),
    **dict.fromkeys(("--group", "--group-by", "--strata"), "--by COLUMN"),
    **dict.fromkeys(("--patient", "--subject", "--id"), "--cluster COLUMN"),
    **dict.fromkeys(("--confidence", "--alpha", "--ci"), "--level 0.95"),
}
# in the context of a command: the words as they were typed
TYPED_WORDS = "trueness.typed_words"


class ShellCommand(TyperCommand):
    """A command of ``trueness``, which returns a :class:`CommandAnswer`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a line; refuse an option that was typed twice."""
        ctx.meta[TYPED_WORDS] = tuple(args)
        options = _options_by_name(self.params)
        _advise_on_other_words(ctx, args, options)
        typed = list(_repeat_options(args, options))
        rest: list[str] = super().parse_args(ctx, list(typed))
        _refuse_repeated(ctx, typed, options)
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments, as the help shows them."""
        return hide_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> None:
        """Run the command, show its answer, and end with its exit code."""
        typed: dict[str, Any] = ctx.params
        plot = typed.get("plot")

        # an option that is hidden is refused: no advice names it
        options = [p.name for p in self.params if not getattr(p, "hidden", False)]

        with shell.errors_as_exit_codes(
            debug=typed["debug"], quiet=typed["quiet"], options=options
        ):
            _check_before_work(typed)
            with shell.printed_warnings() as answers, collected_remarks() as cleaned:
                answer: shell.CommandAnswer = super().invoke(ctx)
                answer = shell.complete_answer(answer, _name_of(ctx), cleaned)
                answers.append(answer)
                shell.show(answer, as_json=typed.get("json", False), plot=plot)

        if answer.code:
            raise SystemExit(answer.code)


def _check_before_work(typed: Mapping[str, Any]) -> None:
    """Raise an error before the work where an answer could not be written."""
    shell.check_figure(typed.get("plot"))
    shell.check_targets(typed.get("file"), typed)
    if "level" in typed:
        fraction(typed["level"], "--level")


def _name_of(ctx: typer.Context) -> str:
    """Return the name of a command below ``trueness``: "evaluate", "plan auc"."""
    names: list[str] = []
    context: Any = ctx  # the parent's class is private to Typer
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(names)


def _options_by_name(params: Sequence[Any]) -> dict[str, Any]:
    """Return the options of a command by each of their names, long and short."""
    return {
        name: param for param in params for name in param.opts if name.startswith("-")
    }


def _repeat_options(words: Sequence[str], options: Mapping[str, Any]) -> Iterator[str]:
    """Read ``--pass-at 1 5`` as ``--pass-at 1 --pass-at 5``."""
    takes_several = ""  # the option before the present word, if it takes many numbers
    previous = ""
    for word in words:
        if takes_several and word.isdecimal() and previous != takes_several:
            yield takes_several
        yield word
        previous = word
        if not word.isdecimal():
            takes_several = word if _takes_numbers(options.get(word)) else ""


def _takes_numbers(option: Any) -> bool:
    """Return whether this is an option for several whole numbers."""
    return getattr(option, "multiple", False) and option.metavar == "NUMBER"


def _advise_on_other_words(
    ctx: typer.Context, words: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Stop at an option of another tool, with what to type here."""
    for word in words:
        name = word.partition("=")[0]
        advice = OPTIONS_OF_OTHERS.get(name, "")
        if advice and name not in options and advice.split()[0] in options:
            ctx.fail(f"There is no option {name}. Type {advice}.")


def _refuse_repeated(
    ctx: typer.Context, words: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Stop at an option that was typed twice; Click would take the last one."""
    names = (word.partition("=")[0] for word in words)
    typed = [options[name] for name in names if name in options]
    for option in typed:
        may_repeat = option.multiple or option.is_flag
        if not may_repeat and typed.count(option) > 1:
            ctx.fail(
                f"{option.opts[0]} may be given once; found it {typed.count(option)} "
                "times. Run the command once for each."
            )
