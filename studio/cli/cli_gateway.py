"""`penstock gateway`: agent clients of three APIs in front of one server of open models."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import typer

from ...events.errors import UsageError, how_to_install
from ...operators.catalogue.dialect_for import dialects_named
from ...operators.engine.known_names import known_names
from .cli_parts import beginning_with

GATEWAY_EXAMPLES = """\b
Examples:
  penstock gateway --upstream http://127.0.0.1:8080
  penstock gateway --upstream http://127.0.0.1:8000/v1 --server vllm --dialect qwen3_coder
  penstock gateway --upstream http://127.0.0.1:11434 --model qwen3:8b --port 4141
  penstock gateway --upstream http://127.0.0.1:8080 --host 0.0.0.0 --key secret
  penstock gateway --upstream http://127.0.0.1:8080 --upstream http://127.0.0.1:8081 --watchdog first=60,between=30
  penstock gateway --upstream http://127.0.0.1:8080 --allow-tools read,write,edit --root . --redact keys,email
"""
UPSTREAM_KEY = "PENSTOCK_UPSTREAM_KEY"
_SERVERS = ("auto", "vllm", "sglang", "llamacpp", "ollama", "lmstudio", "openai")


def gateway(  # noqa: PLR0913 - the options of the command
    *,
    upstream: Annotated[
        list[str],
        typer.Option(
            metavar="URL",
            help="The server of the model, with OpenAI's chat completions. Several: the next one is asked where one "
            "fails before its first output.",
        ),
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
    allow_tools: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="The only tools that the model may call; any other call is blocked."),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder in which paths in calls must be. Paths within a command or a patch are not looked at.",
        ),
    ] = None,
    redact: Annotated[
        str | None,
        typer.Option(metavar="WHAT,...", help="Replace keys, email, card, phone or all, in answers, errors and logs."),
    ] = None,
    watchdog: Annotated[
        str | None,
        typer.Option(
            metavar="LIMIT=SECONDS,...",
            help="How long to wait: first (for the first content), between (two contents), call (one call), total.",
        ),
    ] = None,
) -> None:
    """Put OpenAI's and Anthropic's APIs in front of a server of open models, and mend its calls.

    Clients of Chat Completions, Responses and Messages are answered, streamed or not. The key of the upstream, if it
    needs one of its own, is taken from PENSTOCK_UPSTREAM_KEY. One line of standard error tells of each request. Ctrl-C
    ends all answers with an error, and stops. What the guards block, the client gets as a text that says why.
    """
    try:
        from ...gateway.serving.answer_guards import REDACTED  # noqa: PLC0415 - what it imports is an extra
        from ...gateway.serving.gateway_app import GatewayOptions  # noqa: PLC0415
        from ...gateway.serving.run_gateway import new_loop, run_gateway  # noqa: PLC0415
        from ...gateway.serving.server_profiles import ServerName  # noqa: PLC0415
        from ...gateway.serving.upstream import Upstream  # noqa: PLC0415
        from ...sources.streams.time_limits import TimeLimits  # noqa: PLC0415
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
    options = GatewayOptions(
        model=model,
        dialect=dialect,
        key=key,
        most_at_once=most_at_once,
        allow_tools=None if allow_tools is None else _listed(allow_tools),
        root=root,
        redact=() if redact is None else _redacted(_listed(redact), REDACTED),
        watchdog=None if watchdog is None else _limits(_listed(watchdog), TimeLimits._fields),
    )
    known: ServerName | None = None if server == "auto" else cast("Any", server)
    asked = [Upstream(each, server=known, key=os.environ.get(UPSTREAM_KEY)) for each in upstream]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run_gateway(asked, options, host=host, port=port, say=typer.echo))


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _redacted(names: list[str], ready: Mapping[str, Any]) -> list[Any]:
    """Return what is redacted, by its names on the command line."""
    known = (*ready, "all")
    for each in names or [""]:
        if each not in known:
            message = f"--redact takes {', '.join(ready)} and all, got {each!r}; {known_names(each, known)}"
            raise UsageError(message)
    return [ready[each] for each in (ready if "all" in names else names)]


def _limits(given: list[str], known: Sequence[str]) -> dict[str, float]:
    """Return the limits of `watchdog` that are given as `first=60`."""
    limits: dict[str, float] = {}
    for each in given or [""]:
        name, _, seconds = each.partition("=")
        try:
            limits[name] = float(seconds)
        except ValueError:
            name = ""
        if name not in known:
            message = f"--watchdog takes {', '.join(known)} in seconds, such as first=60,between=30; got {each!r}"
            raise UsageError(message)
    return limits
