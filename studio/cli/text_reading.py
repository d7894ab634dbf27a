"""How a command finds calls in a model's text: `--dialect` and `--model`, and what is a text in place of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ...events.errors import UsageError
from ...operators.catalogue.dialect_for import MODELS, dialect_for
from ...operators.engine.known_names import known_names
from ...operators.grammar.dialect import Dialect
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import TEXT_STRATEGIES, TextStrategy, strategy_named
from ...pipeline.strategy_choice import DEFAULT_IN_TEXT, settings_from_environment
from ..reading.read_input import text_pieces
from ..reading.recorded import AsText
from .cli_parts import beginning_with, complain, imported, strategy_name

complete_dialect = beginning_with(TEXT_STRATEGIES)
DialectNames = Annotated[
    list[str] | None,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="How the model writes calls into its text: one of penstock strategies, or MODULE:NAME of a dialect of "
        "your own; where there is only text by default auto; can be repeated.",
        autocompletion=complete_dialect,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model, instead of --dialect: as hubs and servers name it."),
]
TEXT_SUFFIX = ".txt"
TURN = "turn"
"""The turn id of a text; in a stream each answer has its own."""


class Finder(NamedTuple):
    """What finds the calls, and its name."""

    name: str
    pipeline: Pipeline


class CallReading:
    """How a command on streams finds calls: as `--strategy`, `--dialect` or `--model` says, else the environment.

    `takes_text`: whether what is no stream is a text, as it is with `--dialect` and `--model`. `UsageError` for an
    unknown name, and for more than one of the three.
    """

    def __init__(
        self,
        strategy: str | None = None,
        dialects: Sequence[str] | None = None,
        model: str | None = None,
        *,
        takes_text: bool = False,
    ) -> None:
        if strategy is not None and (dialects or model is not None):
            message = "--strategy, --dialect and --model each say how calls are found; leave out all but one"
            raise UsageError(message)
        self._strategy = strategy
        self._dialects = tuple(dialects or ())
        self._model = model
        self._takes_text = takes_text or bool(dialects) or model is not None
        if model is not None:
            check_model(model, self._dialects)
        self.finder(is_text=True)  # a typo is told before anything is read

    def finder(self, *, is_text: bool) -> Finder:
        """Return what finds the calls in a stream, or in a text."""
        turn = TURN if is_text else None
        if self._model is not None:
            return Finder(self._model, text_pipeline((), self._model, turn_id=turn))
        if self._dialects or (is_text and self._strategy is None):
            name = strategy_of(self._dialects).__name__
            return Finder(name, text_pipeline(self._dialects, None, turn_id=turn))
        name = strategy_name(self._strategy)
        return Finder(name, Pipeline(strategy_named(name), turn_id=turn))

    def as_text(self, file: str) -> AsText:
        """Return what reads a file that is no stream: a text if it is called one, or if its dialect is named."""
        return _read if self._takes_text or Path(file).suffix == TEXT_SUFFIX else _refuse


def _read(body: bytes, _: UsageError) -> list[str]:
    return text_pieces(body)


def _refuse(body: bytes, error: UsageError) -> list[str]:
    try:
        text_pieces(body)
    except UsageError:  # it is no text either
        raise error from None
    message = f"{error}; if it is a model's text, add --dialect or --model"
    raise UsageError(message) from error


def text_pipeline(
    dialects: Sequence[str], model: str | None, *, starts_in_reasoning: bool = False, **options: Any
) -> Pipeline:
    """Return the pipeline for the text of a model, or in these dialects."""
    if starts_in_reasoning or model is not None:
        options["starts_in_reasoning"] = starts_in_reasoning or "auto"
    return Pipeline(None if model is not None else strategy_of(dialects), model=model, **options)


def strategy_of(names: Sequence[str]) -> TextStrategy:
    """Return a strategy for these dialects; without dialects, the one set in the environment, else `auto`.

    >>> strategy_of(["hermes", "Qwen3_Coder"])
    <TextStrategy hermes+qwen3_coder>
    """
    if not names:
        current = settings_from_environment().strategy
        strategy_named(current)
        return TEXT_STRATEGIES.get(current, TEXT_STRATEGIES[DEFAULT_IN_TEXT])
    found = [(_own(name), name) if ":" in name else _built_in(name) for name in names]
    dialects = dict.fromkeys(each for several, _ in found for each in several)
    return TextStrategy(*dialects, name="+".join(dict.fromkeys(name for _, name in found)))


def _built_in(given: str) -> tuple[Iterable[Dialect], str]:
    name = given.strip().lower()
    if name not in TEXT_STRATEGIES:
        message = f"unknown dialect {given!r}; {known_names(name, TEXT_STRATEGIES)}"
        raise UsageError(message)
    return TEXT_STRATEGIES[name].dialects, name


def _own(given: str) -> Iterable[Dialect]:
    """Return the dialect of the user's own module."""
    module, _, path = given.rpartition(":")
    try:
        found = imported(module, path)
    except UsageError as error:
        message = f"--dialect {given}: {error}"
        raise UsageError(message) from error
    if not isinstance(found, Dialect):
        message = f"--dialect {given}: must be a Dialect, got {found!r:.80}"
        raise UsageError(message)
    return (found,)


def check_model(model: str, dialects: Sequence[str]) -> None:
    """Say on stderr what is not certain of a model's dialect; `UsageError` if dialects are named, too."""
    if dialects:
        message = "--model chooses the dialect; leave out --dialect, or --model"
        raise UsageError(message)
    row = dialect_for(model)
    if row.is_guess:
        complain(f"{model!r} is a family, of which some models write other dialects; read with {row.names[0]}")
    elif row.names == ("auto",) and (near := get_close_matches(model.casefold(), [*MODELS, "auto"], 3)) != ["auto"]:
        hint = f"; {known_names(model, MODELS)}" if near else ""
        complain(f"{model!r} is no known model; read with auto{hint}")
