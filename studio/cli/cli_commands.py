"""The command `penstock` with all its commands, each imported when it runs. Needs `pip install ".[cli]"`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
import typer.core
import typer.main
from typer.exceptions import TyperException

from ...events.errors import PenstockError
from .installed_version import installed_version

HELP = "Act on a language model's output while it is still streaming."
EXAMPLES = """\b
Examples:
  penstock demo
  penstock app --demo
  penstock run --provider openai --model gpt-5 --tool write_file "Write a garden in SVG."
  penstock replay answer.sse --emit segments
  penstock parse --dialect hermes < answer.txt
  penstock inspect --json --via sdk *.sse
"""
_WORDING = (("Value error, ", ""), ("Input should be", "it should be"))
"""Replacements that turn pydantic's errors about settings into errors about options."""

_PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}


class _Command(NamedTuple):
    """A function, its file, and the first sentence of its docstring."""

    function: str
    file: str
    about: str


COMMANDS = {
    "demo": _Command("demo", ".cli_pages", "Show files being written while the model is still writing them."),
    "run": _Command(
        "run", ".cli_run", "Ask a model and show its answer while it arrives: text, files, commands, calls."
    ),
    "record": _Command("record", ".cli_run", "Record an answer with its times while it is shown."),
    "replay": _Command("replay", ".cli_replay", "Replay a recorded answer as if it came now."),
    "parse": _Command(
        "parse",
        ".cli_replay",
        "Find the calls and the reasoning in a model's text, and show them while the text arrives.",
    ),
    "inspect": _Command(
        "inspect",
        ".cli_recordings",
        "Summarise recorded answers: text, calls, when each call came, how they ended.",
    ),
    "diff": _Command(
        "diff", ".cli_traces", "Find where two recordings, strategies or cuttings first say something else."
    ),
    "marbles": _Command("marbles", ".cli_traces", "Draw a recorded answer as a marble diagram."),
    "convert": _Command(
        "convert",
        ".cli_recordings",
        "Convert a recording to the body of its response, and a body or a cassette to a recording.",
    ),
    "explore": _Command("explore", ".cli_recordings", "Look through recorded answers in your browser, item by item."),
    "batch": _Command(
        "batch",
        ".cli_recordings",
        "Read recordings, bodies and texts in bulk into Parquet tables: "
        "invocations, failures, segments, usage, records.",
    ),
    "app": _Command(
        "app", ".cli_pages", "Serve a page on this machine that shows answers while they stream: text, files, commands."
    ),
    "gateway": _Command(
        "gateway",
        ".cli_gateway",
        "Put OpenAI's and Anthropic's APIs in front of a server of open models, and mend its calls.",
    ),
    "buffer": _Command(
        "buffer",
        ".cli_gateway",
        "Own the requests to a provider, and write their answers into a log, so that all else may be restarted.",
    ),
    "serve-recordings": _Command(
        "serve",
        ".cli_pages",
        "Replay recorded answers to the clients of OpenAI, Anthropic, Google, Ollama, Cohere and Bedrock.",
    ),
    "strategies": _Command(
        "strategies",
        ".cli_reference",
        "List the named strategies, or explain one; `*` marks what the environment chooses.",
    ),
    "schema": _Command(
        "schema", ".cli_reference", "Show the JSON Schema of the events; with --tool, what a request's tools look like."
    ),
}


class _Commands(typer.core.TyperGroup):
    """Lists the commands without their options, and imports only the command that is run."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, command in COMMANDS.items():
            self.add_command(typer.core.TyperCommand(name, help=command.about))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, left = super().resolve_command(ctx, args)
        return name, None if name is None else found and imported(name), left


def imported(name: str) -> Any:
    """Return the command of a name, with its options."""
    command = COMMANDS[name]
    function = command.function
    file = import_module(command.file, __package__)
    alone = typer.Typer(add_completion=False, **_PLAIN)
    alone.command(name, epilog=getattr(file, f"{function.upper()}_EXAMPLES"))(getattr(file, function))
    return typer.main.get_command(alone)


app = typer.Typer(cls=_Commands, **_PLAIN)


@app.callback(invoke_without_command=True, help=HELP, epilog=EXAMPLES)
def penstock(
    context: typer.Context,
    *,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if show_version:
        typer.echo(f"penstock {installed_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run_command() -> int:
    """Run the command in `sys.argv` and return the exit code; errors that the user can fix are printed in one line."""
    try:
        return int(app(sys.argv[1:] or ["--help"], prog_name="penstock", standalone_mode=False) or 0)
    except TyperException as error:
        message = error.format_message()
        for theirs, ours in _WORDING:
            message = message.replace(theirs, ours)
    except PenstockError as error:
        message = str(error)
    from .cli_parts import complain  # noqa: PLC0415 - help needs none of it

    complain(message)
    return 2
