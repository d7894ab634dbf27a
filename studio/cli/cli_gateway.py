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
  penstock gateway --upstream http://127.0.0.1:11434 --model qwen3:8b --template qwen3/tokenizer_config.json
  penstock gateway --upstream http://127.0.0.1:8080 --host 0.0.0.0 --key secret
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
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The model's chat_template.jinja or tokenizer_config.json: the upstream completes its prompts.",
        ),
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
) -> None:
    """Put OpenAI's and Anthropic's APIs in front of a server of open models, and mend its calls.

    Clients of Chat Completions, Responses and Messages are answered, streamed or not. The key of the upstream, if it
    needs one of its own, is taken from PENSTOCK_UPSTREAM_KEY. One line of standard error tells of each request. Ctrl-C
    ends all answers with an error, and stops.
    """
    try:
        from ...gateway.chat_template import read_template  # noqa: PLC0415 - what it imports is an extra
        from ...gateway.serving.gateway_app import GatewayOptions  # noqa: PLC0415
        from ...gateway.serving.run_gateway import run_gateway  # noqa: PLC0415
        from ...gateway.serving.server_profiles import ServerName  # noqa: PLC0415
        from ...gateway.serving.upstream import Upstream  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("httpx2", "jinja2", "starlette", "uvicorn"):
            raise
        message = f"the gateway needs {error.name}; {how_to_install('gateway')}"
        raise UsageError(message) from error
    if server not in _SERVERS:
        message = f"--server must be one of {', '.join(_SERVERS)}, got {server!r}"
        raise UsageError(message)
    if dialect is not None:
        dialects_named(dialect)
    prompts = None if template is None else read_template(template)
    options = GatewayOptions(model=model, dialect=dialect, template=prompts, key=key, most_at_once=most_at_once)
    known: ServerName | None = None if server == "auto" else cast("Any", server)
    asked = Upstream(upstream, server=known, key=os.environ.get(UPSTREAM_KEY))
    asyncio.run(run_gateway(asked, options, host=host, port=port, say=typer.echo))
