"""`penstock gateway`: agent clients of three APIs in front of one server of open models."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ...events.errors import UsageError, how_to_install
from ...operators.catalogue.dialect_for import dialects_named
from .cli_parts import beginning_with

GATEWAY_EXAMPLES = """\b
Examples:
  penstock gateway --upstream http://127.0.0.1:8080
  penstock gateway --upstream http://127.0.0.1:8000/v1 --server vllm --dialect qwen3_coder
  penstock gateway --upstream http://127.0.0.1:11434 --model qwen3:8b --port 4141
  penstock gateway --upstream http://127.0.0.1:8080 --host 0.0.0.0 --key secret
  penstock gateway --upstream http://127.0.0.1:8080 --record recordings
  penstock gateway --config gateway.toml
"""
UPSTREAM_KEY = "PENSTOCK_UPSTREAM_KEY"
GATEWAY_KEY = "PENSTOCK_GATEWAY_KEY"
_SERVERS = ("auto", "vllm", "sglang", "llamacpp", "ollama", "lmstudio", "openai")


def gateway(  # noqa: PLR0913 - the options of the command
    *,
    upstream: Annotated[
        str | None, typer.Option(metavar="URL", help="The server of the model, with OpenAI's chat completions.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file with several models and servers, in place of --upstream."),
    ] = None,
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
        str | None,
        typer.Option(
            metavar="HOST", help="The address to listen on, by default 127.0.0.1; for other machines with --key."
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port, by default 4141; 0 picks a free one.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar=GATEWAY_KEY,
            show_envvar=True,
            help="What clients must send as their key; by default theirs goes to the upstream.",
        ),
    ] = None,
    most_at_once: Annotated[
        int | None, typer.Option(min=1, help="The most requests that are answered at the same time, by default 64.")
    ] = None,
    most_waiting: Annotated[
        int | None, typer.Option(min=0, help="The most further requests that wait for their turn, by default 64.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep each request with its answer, and conversations, in this folder."),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Time that SIGTERM leaves to answers, by default 8 seconds."),
    ] = None,
) -> None:
    """Put OpenAI's and Anthropic's APIs in front of a server of open models, and mend its calls.

    Clients of Chat Completions, Responses and Messages are answered, streamed or not. The key of the upstream, if it
    needs one of its own, is taken from PENSTOCK_UPSTREAM_KEY. One line of standard error tells of each request, and
    /metrics tells Prometheus of all. Ctrl-C ends all answers with an error, and stops.
    """
    try:
        from ...gateway.serving.gateway_app import GatewayOptions  # noqa: PLC0415 - what it imports is an extra
        from ...gateway.serving.gateway_config import GatewayConfig, given, read_config  # noqa: PLC0415
        from ...gateway.serving.run_gateway import run_gateway  # noqa: PLC0415
        from ...gateway.serving.server_profiles import ServerName  # noqa: PLC0415
        from ...gateway.serving.upstream import Upstream  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("httpx2", "prometheus_client", "starlette", "uvicorn"):
            raise
        message = f"the gateway needs {error.name}; {how_to_install('gateway')}"
        raise UsageError(message) from error
    if server not in _SERVERS:
        message = f"--server must be one of {', '.join(_SERVERS)}, got {server!r}"
        raise UsageError(message)
    if dialect is not None:
        dialects_named(dialect)
    if (upstream is None) == (config is None):
        message = "pass --upstream with the address of the model's server, or --config with a file"
        raise UsageError(message)
    if config is not None and (model, dialect, server) != (None, None, "auto"):
        message = "--config says which models there are; write --model, --dialect and --server into the file"
        raise UsageError(message)
    said = GatewayConfig((), {}, {}) if config is None else read_config(config)
    own = given(key=key, most_at_once=most_at_once, most_waiting=most_waiting, record=record)
    options = GatewayOptions(model=model, dialect=dialect, **{**said.options, **own})
    running = {**said.running, **given(host=host, port=port, grace=grace)}
    known: ServerName | None = None if server == "auto" else cast("Any", server)
    asked = said.models if upstream is None else Upstream(upstream, server=known, key=os.environ.get(UPSTREAM_KEY))
    asyncio.run(run_gateway(asked, options, say=typer.echo, **running))
