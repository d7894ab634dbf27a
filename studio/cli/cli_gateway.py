"""`penstock gateway`: agent clients of three APIs in front of one server of open models."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from ...events.errors import UsageError, how_to_install, shown_url
from ...operators.catalogue.dialect_for import dialects_named
from ...sinks.parts.event_words import printable
from .cli_parts import beginning_with
from .stream_parts import progress_shown

if TYPE_CHECKING:
    from ...gateway.doctor.diagnose import Diagnosis, Told
    from ...gateway.serving.gateway_app import GatewayOptions
    from ...gateway.serving.upstream import Upstream

GATEWAY_EXAMPLES = """\b
Examples:
  penstock gateway --upstream http://127.0.0.1:8080
  penstock gateway --upstream http://127.0.0.1:8000/v1 --server vllm --dialect qwen3_coder
  penstock gateway --upstream http://127.0.0.1:11434 --model qwen3:8b --port 4141
  penstock gateway --upstream http://127.0.0.1:8080 --host 0.0.0.0 --key secret
  penstock gateway --upstream http://127.0.0.1:8080 --doctor
"""
UPSTREAM_KEY = "PENSTOCK_UPSTREAM_KEY"
_SERVERS = ("auto", "vllm", "sglang", "llamacpp", "ollama", "lmstudio", "openai")


def gateway(  # noqa: PLR0913 - the options of the command
    *,
    upstream: Annotated[
        str, typer.Option(metavar="URL", help="The server of the model, with OpenAI's chat completions.")
    ],
    server: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="vllm, sglang, llamacpp, ollama, lmstudio, openai for any other, or auto: it is asked what it is.",
            autocompletion=beginning_with(_SERVERS),
        ),
    ] = "auto",
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The upstream's model for every request; by default its only one."),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How the model writes calls; by default what its name says, or auto."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="The address to listen on; for another than this machine's with --key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 4141,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="What clients must send as their key; by default theirs goes to the upstream."
        ),
    ] = None,
    most_at_once: Annotated[int, typer.Option(min=1, help="The most requests at the same time.")] = 64,
    doctor: Annotated[
        bool, typer.Option("--doctor", help="Ask the upstream what it breaks, say what is mended, and stop.")
    ] = False,
) -> None:
    """Put OpenAI's and Anthropic's APIs in front of a server of open models, and mend its calls.

    Clients of Chat Completions, Responses and Messages are answered, streamed or not. The key of the upstream, if it
    needs one of its own, is taken from PENSTOCK_UPSTREAM_KEY. One line of standard error tells of each request. Ctrl-C
    ends all answers with an error, and stops. With --doctor nothing is served: the upstream is asked some questions, as
    it is and through the gateway; the exit code is 1 if something stays broken.
    """
    try:
        from ...gateway.serving.gateway_app import GatewayOptions  # noqa: PLC0415 - what it imports is an extra
        from ...gateway.serving.run_gateway import run_gateway  # noqa: PLC0415
        from ...gateway.serving.server_profiles import ServerName  # noqa: PLC0415
        from ...gateway.serving.upstream import Upstream  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("httpx2", "starlette", "uvicorn"):
            raise
        message = f"the gateway needs {error.name}; {how_to_install('gateway')}"
        raise UsageError(message) from error
    if server not in _SERVERS:
        message = f"--server must be one of {', '.join(_SERVERS)}, got {server!r}"
        raise UsageError(message)
    if dialect is not None:
        dialects_named(dialect)
    options = GatewayOptions(model=model, dialect=dialect, key=key, most_at_once=most_at_once)
    known: ServerName | None = None if server == "auto" else cast("Any", server)
    asked = Upstream(upstream, server=known, key=os.environ.get(UPSTREAM_KEY))
    if doctor:
        given = {"--server": known, "--model": model, "--dialect": dialect}
        named = [each for option, value in given.items() if value is not None for each in (option, value)]
        _run_doctor(asked, options, shlex.join(["penstock", "gateway", "--upstream", shown_url(asked.url), *named]))
    asyncio.run(run_gateway(asked, options, host=host, port=port, say=typer.echo))


def _run_doctor(upstream: Upstream, options: GatewayOptions, command: str) -> NoReturn:
    """Ask the doctor's questions and print what came of them; exit with 1 if something is broken through the gateway.

    `command`: what starts the gateway with the same options.
    """
    with progress_shown(f"asking {shown_url(upstream.url)}") as show:
        found = asyncio.run(_asked(upstream, options, show or _untold))
    _print(found, shown_url(upstream.url))
    for line in found.advice(command):
        typer.echo(line)
    raise typer.Exit(0 if found.is_well else 1)


def _untold(_done: int, _of: int) -> None:
    """Take the place of a progress bar where there is no terminal."""


async def _asked(upstream: Upstream, options: GatewayOptions, told: Told) -> Diagnosis:
    from ...gateway.doctor.diagnose import diagnose  # noqa: PLC0415 - what it imports is an extra

    async with upstream:
        return await diagnose(upstream, options, told)


def _print(found: Diagnosis, url: str) -> None:
    from rich import box  # noqa: PLC0415 - rich is not needed for help
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    server = found.found
    typer.echo(printable(f"{url}: {server.server}, model {found.model}, lane {server.lane}: {server.why}"))
    table = Table("", "question", "the server alone", "through the gateway", box=box.SIMPLE_HEAD, pad_edge=False)
    shown: set[str] = set()
    for row in found.rows:
        cells = (row.verdict, row.question, _once(row.alone.what, shown), _once(row.through.what, shown))
        table.add_row(*(Text(printable(each)) for each in cells))
    console = Console(highlight=False)
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        typer.echo(line.rstrip())


def _once(what: str, shown: set[str]) -> str:
    """Return what a cell says; an error that was shown before is not shown again."""
    from ...gateway.doctor.questions import ERROR  # noqa: PLC0415 - what it imports is an extra

    if what in shown and what.startswith(ERROR):
        return "the same error"
    shown.add(what)
    return what
