"""The command `penstock` with all its commands. Needs the extra `cli`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from typer.exceptions import TyperException

from ...events.errors import PenstockError
from .cli_demo import DEMO_EXAMPLES, demo
from .cli_inspect import INSPECT_EXAMPLES, inspect
from .cli_parse import PARSE_EXAMPLES, parse
from .cli_parts import complain
from .cli_replay import REPLAY_EXAMPLES, replay
from .cli_run import RUN_EXAMPLES, run
from .cli_schema import SCHEMA_EXAMPLES, schema
from .cli_serve import SERVE_EXAMPLES, serve
from .cli_strategies import STRATEGIES_EXAMPLES, strategies

HELP = "Act on a language model's output while it is still streaming."
EXAMPLES = """\b
Examples:
  penstock demo
  penstock run --provider openai --model gpt-5 --tool write_file "Write a garden in SVG."
  penstock replay answer.sse --emit segments
  penstock parse --dialect hermes < answer.txt
  penstock inspect --json --via sdk *.sse
"""
_WORDING = (("Value error, ", ""), ("Input should be", "it should be"))
"""Pydantic's errors about options, as option names."""

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True, help=HELP, epilog=EXAMPLES)
def penstock(
    context: typer.Context,
    *,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if show_version:
        typer.echo(f"penstock {_version()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(epilog=DEMO_EXAMPLES)(demo)
app.command(epilog=RUN_EXAMPLES)(run)
app.command(epilog=REPLAY_EXAMPLES)(replay)
app.command(epilog=PARSE_EXAMPLES)(parse)
app.command(epilog=INSPECT_EXAMPLES)(inspect)
app.command(name="serve-recordings", epilog=SERVE_EXAMPLES)(serve)
app.command(epilog=STRATEGIES_EXAMPLES)(strategies)
app.command(epilog=SCHEMA_EXAMPLES)(schema)


def run_command() -> int:
    """Run the command in `sys.argv` and return the exit code; errors that the user can fix are printed in one line."""
    try:
        return int(app(prog_name="penstock", standalone_mode=False) or 0)
    except TyperException as error:
        message = error.format_message()
        for theirs, ours in _WORDING:
            message = message.replace(theirs, ours)
        complain(message)
    except PenstockError as error:
        complain(str(error))
    return 2


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "from a checkout that is not installed"
