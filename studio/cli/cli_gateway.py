"""`penstock gateway` and `penstock buffer`: what stands between clients and the servers of models."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from ...events.errors import UsageError, how_to_install, shown_url
from ...operators.catalogue.dialect_for import dialects_named
from ...operators.engine.known_names import known_names
from ...sinks.parts.event_words import printable
from .cli_parts import beginning_with
from .stream_parts import progress_shown

if TYPE_CHECKING:
    from ...gateway.doctor.diagnose import Diagnosis
    from ...gateway.serving.served_model import ServedModel
    from ...gateway.serving.upstream import Upstream

GATEWAY_EXAMPLES = """\b
Examples:
  penstock gateway --upstream http://127.0.0.1:8080
  penstock gateway --upstream http://127.0.0.1:8000/v1 --server vllm --dialect qwen3_coder
  penstock gateway --upstream http://127.0.0.1:11434 --model qwen3:8b --template qwen3/tokenizer_config.json
  penstock gateway --upstream http://127.0.0.1:8080 --host 0.0.0.0 --key secret
  penstock gateway --upstream http://127.0.0.1:8080 --upstream http://127.0.0.1:8081 --watchdog first=60,between=30
  penstock gateway --upstream http://127.0.0.1:8080 --allow-tools read,write,edit --root . --redact keys,email
  penstock gateway --upstream http://127.0.0.1:8080 --record recordings
  penstock gateway --upstream http://127.0.0.1:8080 --log sqlite:answers.sqlite
  penstock gateway --config gateway.toml
  penstock gateway --upstream http://127.0.0.1:8080 --doctor
"""
BUFFER_EXAMPLES = """\b
Examples:
  penstock buffer --upstream https://api.openai.com --log sqlite:streams.sqlite
  penstock buffer --upstream https://api.anthropic.com --log redis://127.0.0.1:6379 --name buffer-1
  penstock buffer --upstream https://api.openai.com --log redis://10.0.0.5 --host 0.0.0.0 --key secret --grace 600
"""
BUFFER_KEY = "PENSTOCK_BUFFER_KEY"
BUFFER_LOG = "PENSTOCK_LOG"
UPSTREAM_KEY = "PENSTOCK_UPSTREAM_KEY"
GATEWAY_KEY = "PENSTOCK_GATEWAY_KEY"
_PACKAGES = ("httpx2", "jinja2", "prometheus_client", "starlette", "uvicorn")
_NEEDING = {"gateway": "gateway", "scale": "buffer"}
_SERVERS = ("auto", "vllm", "sglang", "llamacpp", "ollama", "lmstudio", "openai")


def gateway(  # noqa: PLR0913 - the options of the command
    *,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="The server of the model, with OpenAI's chat completions. Several: the next one is asked where one "
            "fails before its first output.",
        ),
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
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The model's chat_template.jinja or tokenizer_config.json: the upstream completes its prompts.",
        ),
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
    log: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="A log that gateways share, such as sqlite:FILE or redis://HOST: conversations, and answers of "
            "requests with x-penstock-stream.",
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Time that SIGTERM leaves to answers, by default 8 seconds."),
    ] = None,
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
    doctor: Annotated[
        bool, typer.Option("--doctor", help="Ask the servers what they break, say what is mended, and stop.")
    ] = False,
) -> None:
    """Put OpenAI's and Anthropic's APIs in front of a server of open models, and mend its calls.

    Clients of Chat Completions, Responses and Messages are answered, streamed or not. The key of the upstream, if it
    needs one of its own, is taken from PENSTOCK_UPSTREAM_KEY. One line of standard error tells of each request, and
    /metrics tells Prometheus of all. Ctrl-C ends all answers with an error, and stops. What the guards block, the
    client gets as a text that says why.

    With --doctor nothing is served: each server is asked some questions, as it is and through the gateway without its
    guards; the exit code is 1 if something stays broken.
    """
    try:
        from ...gateway.chat_template import read_template  # noqa: PLC0415 - what it imports is an extra
        from ...gateway.operating.listening import new_loop  # noqa: PLC0415
        from ...gateway.serving.answer_guards import REDACTED  # noqa: PLC0415
        from ...gateway.serving.gateway_config import GatewayConfig, given, read_config  # noqa: PLC0415
        from ...gateway.serving.run_gateway import run_gateway  # noqa: PLC0415
        from ...gateway.serving.served_model import GatewayOptions, ServedModel  # noqa: PLC0415
        from ...gateway.serving.server_profiles import ServerName  # noqa: PLC0415
        from ...gateway.serving.upstream import Upstream  # noqa: PLC0415
        from ...scale.logs.open_log import open_log  # noqa: PLC0415
        from ...sources.streams.time_limits import TimeLimits  # noqa: PLC0415
    except ModuleNotFoundError as error:
        _raise_missing(error, "gateway")
    if server not in _SERVERS:
        message = f"--server must be one of {', '.join(_SERVERS)}, got {server!r}"
        raise UsageError(message)
    if dialect is not None:
        dialects_named(dialect)
    if bool(upstream) == (config is not None):
        message = "pass --upstream with the address of the model's server, or --config with a file"
        raise UsageError(message)
    of_models = {
        "model": model,
        "dialect": dialect,
        "template": None if template is None else read_template(template),
        "allow_tools": None if allow_tools is None else _listed(allow_tools),
        "root": root,
        "redact": None if redact is None else _redacted(_listed(redact), REDACTED),
        "watchdog": None if watchdog is None else _limits(_listed(watchdog), TimeLimits._fields),
    }
    if config is not None and (wrong := [*given(**of_models), *(["server"] if server != "auto" else [])]):
        option = wrong[0].replace("_", "-")
        message = f"--config says what models and servers there are; write --{option} into the file"
        raise UsageError(message)
    said = GatewayConfig((), {}, {}) if config is None else read_config(config)
    own = given(key=key, most_at_once=most_at_once, most_waiting=most_waiting, record=record)
    options = GatewayOptions(**{**said.options, **own, **given(**of_models)})
    running = {**said.running, **given(host=host, port=port, grace=grace)}
    known: ServerName | None = None if server == "auto" else cast("Any", server)
    asked = [Upstream(each, server=known, key=os.environ.get(UPSTREAM_KEY)) for each in upstream or ()]
    if doctor:
        _run_doctor(said.models or [ServedModel(asked, options)])
    kept_in = log or running.pop("log", None)

    async def run() -> None:
        async with AsyncExitStack() as stack:
            kept = None
            if kept_in is not None:
                kept = open_log(kept_in)
                stack.push_async_callback(kept.aclose)
            await run_gateway(asked or said.models, options._replace(log=kept), say=typer.echo, **running)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


def buffer(
    *,
    upstream: Annotated[str, typer.Option(metavar="URL", help="The provider, without the paths of its API.")],
    log: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar=BUFFER_LOG,
            show_envvar=True,
            help="The log: sqlite:FILE or redis://HOST:PORT; memory: for a try.",
        ),
    ],
    host: Annotated[
        str, typer.Option(metavar="HOST", help="The address to listen on; for other machines with --key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 4142,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which of several buffers it is; by default the machine's name with the port. One that starts again "
            "ends at once what it had left open.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar=BUFFER_KEY,
            show_envvar=True,
            help="What clients must send as x-penstock-key, beside the provider's key.",
        ),
    ] = None,
    grace: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Time that SIGTERM leaves to answers.")] = 60.0,
    lease: Annotated[
        float,
        typer.Option(
            min=1, metavar="SECONDS", help="How long others wait for a sign of life before they end a stream."
        ),
    ] = 30.0,
) -> None:
    """Own the requests to a provider, and write their answers into a log, so that all else may be restarted.

    A client's base_url points here. Every request passes. A POST with the header x-penstock-stream is kept: its answer
    is read to its end though the client leaves, and whoever sends it again gets the same answer from its beginning.
    Keys pass and are never kept.
    """
    try:
        from ...gateway.operating.listening import new_loop  # noqa: PLC0415 - what it imports is an extra
        from ...scale.buffer.buffer_app import BufferOptions  # noqa: PLC0415
        from ...scale.buffer.run_buffer import run_buffer  # noqa: PLC0415
        from ...scale.logs.open_log import open_log  # noqa: PLC0415
    except ModuleNotFoundError as error:
        _raise_missing(error, "scale")
    options = BufferOptions(name=name or "", key=key, lease=lease, beat=lease / 3)

    async def run() -> None:
        opened = open_log(log)
        try:
            await run_buffer(upstream, opened, options, say=typer.echo, host=host, port=port, grace=grace)
        finally:
            await opened.aclose()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


def _raise_missing(error: ModuleNotFoundError, extra: str) -> NoReturn:
    """Say how to install a package that is missing, if it is one of the extra's."""
    if (error.name or "").partition(".")[0] not in _PACKAGES:
        raise error
    message = f"the {_NEEDING[extra]} needs {error.name}; {how_to_install(extra)}"
    raise UsageError(message) from error


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


def _run_doctor(models: Sequence[ServedModel]) -> NoReturn:
    """Ask the servers of all models the doctor's questions, and print what came of them.

    It exits with 1 if something is broken through the gateway.
    """
    asked = [(upstream, model) for model in models for upstream in model.upstreams]
    with progress_shown("asking") as show:
        found = asyncio.run(_diagnosed(asked, show or _untold))
    for (upstream, model), each in zip(asked, found, strict=True):
        _print(each, shown_url(upstream.url), "" if model.options.template is None else ", read raw by the template")
        for line in each.advice():
            typer.echo(line)
    raise typer.Exit(0 if all(each.is_well for each in found) else 1)


def _untold(_done: int, _of: int) -> None:
    """Take the place of a progress bar where there is no terminal."""


async def _diagnosed(
    asked: Sequence[tuple[Upstream, ServedModel]], show: Callable[[int, int], None]
) -> list[Diagnosis]:
    from ...gateway.doctor.diagnose import diagnose  # noqa: PLC0415 - what it imports is an extra

    found: list[Diagnosis] = []
    async with AsyncExitStack() as stack:
        for upstream in {upstream for upstream, _ in asked}:
            await stack.enter_async_context(upstream)
        for upstream, model in asked:

            def told(done: int, of: int) -> None:
                show(len(found) * of + done, len(asked) * of)

            name = model.options.model or (None if model.is_any else model.names[0])
            found.append(await diagnose(upstream, told, model.options._replace(model=name)))
    return found


def _print(found: Diagnosis, url: str, more: str) -> None:
    from rich import box  # noqa: PLC0415 - rich is not needed for help
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    server = found.found
    typer.echo(printable(f"{url}: {server.server}, model {found.model}, lane {server.lane}: {server.why}{more}"))
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
