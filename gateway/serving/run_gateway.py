"""`run_gateway`: a gateway on a port, until it is told to stop; and what it says of itself at the start."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

import uvicorn

from ...events.errors import ProviderError, shown_url
from ...sinks.log.patience import check_log
from ...sources.base.request import listen
from ..chat_template import ChatTemplate
from ..operating.listening import check_serving
from .gateway_app import Gateway
from .served_model import GatewayOptions, ServedModel, dialect_names
from .upstream import Upstream

_LONGEST_STOP = 5
"""Seconds that answers have to end in order."""


async def run_gateway(
    upstreams: Sequence[Upstream] | Sequence[ServedModel],
    options: GatewayOptions,
    *,
    say: Callable[[str], None],
    host: str = "127.0.0.1",
    port: int = 4141,
    grace: float = 8.0,
) -> None:
    """Answer requests until a signal comes.

    SIGTERM lets the answers that are on their way end within `grace` seconds, and refuses new requests. What is then
    not at its end, and at once what SIGINT or a second signal finds, ends with an error that says why.

    `UsageError` for a host that other machines can reach without a key, for a port that is taken, and for a log that
    refuses this user.
    """
    check_serving(host, options.key, grace)
    gateway = Gateway(upstreams, options)
    with listen(host, port) as listening:
        for line in await _introduction(gateway.models, listening.getsockname()[1], host):
            say(line)
        if options.log is not None:
            await check_log(options.log, say)
        config = uvicorn.Config(
            gateway.app(),
            log_config=None,
            timeout_graceful_shutdown=math.ceil(grace) + _LONGEST_STOP,
            access_log=False,
            lifespan="on",
        )
        logged = logging.StreamHandler(sys.stderr)
        logged.setFormatter(_ShownLines(gateway.shown_text))
        logging.basicConfig(handlers=[logged])
        logging.getLogger("penstock").setLevel(logging.ERROR)  # that a stream failed is in the line of its request
        logging.getLogger("penstock.gateway").setLevel(logging.INFO)
        await _Server(config, gateway, grace).serve(sockets=[listening])


class _ShownLines(logging.Formatter):
    """Redacts all that is logged, tracebacks too, whoever logs it."""

    def __init__(self, shown_text: Callable[[str], str]) -> None:
        super().__init__("%(message)s")
        self._shown_text = shown_text

    def format(self, record: logging.LogRecord) -> str:
        return self._shown_text(super().format(record))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, gateway: Gateway, grace: float) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._grace = grace
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and not self.should_exit:
            self._gateway.refuse()
            self._loop.call_soon_threadsafe(self._loop.call_later, self._grace, self._gateway.stop)
        else:
            self._gateway.stop()
        super().handle_exit(sig, frame)


async def _introduction(models: Sequence[ServedModel], port: int, host: str) -> list[str]:
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}"
    lines = [f"on {url} until Ctrl-C, "]
    if models[0].is_any:
        first, *others = models[0].upstreams
        lines[0] += f"in front of {shown_url(first.url)}"
        lines += await _about_server(models[0], first)
        for each in others:
            lines += [f"if that fails: {shown_url(each.url)}", *await _about_server(models[0], each)]
    else:
        lines[0] += f"with {len(models)} models"
        for model in models:
            at = [await _about_model(model, each) for each in model.upstreams]
            lines.append(f"{', '.join(model.names)}: {'; if that fails: '.join(at)}")
    return [*lines, f"OpenAI's clients: base_url {url}/v1", f"Anthropic's clients: base_url {url}"]


async def _about_server(served: ServedModel, upstream: Upstream) -> list[str]:
    """Return what is known of a server for all its models, in lines."""
    try:
        found = await upstream.find()
    except ProviderError as error:
        return [f"the upstream does not answer yet: {error.detail}"]
    lane = served.lane_in(found)
    lines = [f"lane {lane} of {found.server}: {found.why}"]
    if (template := served.options.template) is not None:
        lines = [f"lane {lane} of {found.server}: it is asked to complete the prompts of {template.name}"]
        lines += [f"warning: {each}" for each in _warnings(template)]
    names = served.listed_of(found)
    if lane != "parsed":
        of = {"+".join(dialect_names(served.options.dialect or name)) for name in names}
        lines.append(f"dialect {', '.join(sorted(of)) or 'by the model of each request'}")
    return [*lines, f"models {', '.join(names) or 'unknown'}"]


async def _about_model(served: ServedModel, upstream: Upstream) -> str:
    """Return where a model is, and how it is asked there, in one line."""
    url = shown_url(upstream.url)
    try:
        found = await upstream.find()
    except ProviderError as error:
        return f"at {url}, which does not answer yet: {error.detail}"
    model, lane, template = served.model_in(found), served.lane_in(found), served.options.template
    said = [f"{model} at {url}", f"lane {lane} of {found.server}"]
    if lane != "parsed":
        said.append(f"dialect {'+'.join(dialect_names(served.options.dialect or model))}")
    said += [] if template is None else _warnings(template)
    return ", ".join(said)


def _warnings(template: ChatTemplate) -> list[str]:
    """Return what a template leaves out that agents need."""
    if not template.habits.shows_tools:
        return ["the template does not show tools, so that the model will not know them; pass another one"]
    if not template.habits.takes_calls:
        return ["the template leaves out the calls of a conversation; pass another one for agents"]
    return []
