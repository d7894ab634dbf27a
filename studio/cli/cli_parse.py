"""`penstock parse`: find the calls in a text while it is read."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ...events.errors import UsageError
from ...operators.argument_progress import argument_progress
from ...operators.engine.known_names import known_names
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import TEXT_STRATEGIES, TextStrategy, strategy_named
from ...pipeline.strategy_choice import DEFAULT_IN_TEXT, settings_from_environment
from ..reading.event_lines import EmitEvents, only, short_line
from ..reading.read_input import TextInput
from .cli_parts import AsJson, Watched, beginning_with, complain, print_lines, show, tools_named

PARSE_EXAMPLES = """\b
Examples:
  penstock parse --dialect hermes < answer.txt
  llama-cli -m qwen3.gguf -p "What is the weather?" | penstock parse --dialect hermes
  penstock parse --dialect qwen3_coder --tools tools.json --emit invocations --json < answer.txt
  penstock parse --starts-in-reasoning answer.txt
"""


def parse(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model's answer; - for the input.")] = "-",
    *,
    dialect: Annotated[
        list[str] | None,
        typer.Option(
            "--dialect",
            metavar="NAME",
            help="How the model writes calls, one of penstock strategies; by default auto; can be repeated.",
            autocompletion=beginning_with(TEXT_STRATEGIES),
        ),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools",
            "--tool",
            metavar="FILE",
            help="Tools, for the types of unquoted values and for validation; can be repeated: a "
            "JSON file with a definition or a list of them, in any provider's form, or MODULE:FUNCTION.",
        ),
    ] = None,
    starts_in_reasoning: Annotated[
        bool, typer.Option("--starts-in-reasoning", help="The prompt opened the reasoning; the text only closes it.")
    ] = False,
    emit: Annotated[
        EmitEvents | None, typer.Option(help="Print only these events, one per line, instead of the live view.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the calls and the reasoning in a model's text, and show them while the text arrives.

    The text is read as it is written, in UTF-8; invalid bytes become U+FFFD. Calls are shown, never run. A cut or
    malformed call is shown with its reason, and the exit code is 0. Ctrl-C ends open segments as interrupted; the exit
    code is 130.
    """
    known = tools_named(tools or (), option="--tools")
    text = TextInput(file)
    found = Pipeline(
        strategy_of(dialect or []),
        tools=known or None,
        starts_in_reasoning=starts_in_reasoning,
        updates=emit == "updates",
    )
    behind = [argument_progress()] if emit == "fragments" else []
    answer = Pipeline([found.operator, *behind], keep_answer=False).stream(text)

    def stop(reason: str) -> None:
        answer.cancel(reason)
        text.stop()

    if file == "-" and sys.stdin.isatty():  # if it is closed, the text has raised already
        complain("reading what you type; Ctrl-D ends it")
    watched = Watched(only(answer, emit), stop)
    if emit is not None and not as_json:
        print_lines(watched, short_line)
    else:
        show(watched, as_json=as_json)
    if watched.is_stopped:
        raise typer.Exit(130)


def strategy_of(names: list[str]) -> TextStrategy:
    """Return a strategy for these dialects; without dialects, the one set in the environment, else `auto`.

    >>> strategy_of(["hermes", "Qwen3_Coder"])
    <TextStrategy hermes+qwen3_coder>
    """
    if not names:
        current = settings_from_environment().strategy
        strategy_named(current)
        return TEXT_STRATEGIES.get(current, TEXT_STRATEGIES[DEFAULT_IN_TEXT])
    chosen = [name.strip().lower() for name in names]
    for given, name in zip(names, chosen, strict=True):
        if name not in TEXT_STRATEGIES:
            message = f"unknown dialect {given!r}; {known_names(name, TEXT_STRATEGIES)}"
            raise UsageError(message)
    dialects = dict.fromkeys(each for name in chosen for each in TEXT_STRATEGIES[name].dialects)
    return TextStrategy(*dialects, name="+".join(dict.fromkeys(chosen)))
