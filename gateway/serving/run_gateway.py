"""`run_gateway`: a gateway on a port, until it is told to stop; and what it says of itself at the start."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from ...events.errors import ProviderError, UsageError
from ...sources.base.request import is_this_machine
from ..chat_template import ChatTemplate
from .gateway_app import Gateway, GatewayOptions, dialect_names
from .upstream import Found, Upstream

_LONGEST_STOP = 5
"""Seconds that answers have to end in order."""


async def run_gateway(
    upstream: Upstream, options: GatewayOptions, *, host: str, port: int, say: Callable[[str], None]
) -> None:
    """Answer requests until a signal comes; answers on their way then end with an error that says so.

    `UsageError` for a host that other machines can reach without a key, and for a port that is taken.
    """
    if options.key is None and not is_this_machine(host):
        message = f"other machines can reach {host}; pass --key too, which clients then must send"
        raise UsageError(message)
    gateway = Gateway(upstream, options)
    with _listening(host, port) as listening:
        for line in await _introduction(upstream, options, listening.getsockname()[1], host):
            say(line)
        config = uvicorn.Config(
            gateway.app(), log_config=None, timeout_graceful_shutdown=_LONGEST_STOP, access_log=False, lifespan="on"
        )
        logging.basicConfig(stream=sys.stderr, format="%(message)s")
        logging.getLogger("penstock").setLevel(logging.ERROR)  # that a stream failed is in the line of its request
        logging.getLogger("penstock.gateway").setLevel(logging.INFO)
        await _Server(config, gateway.stop).serve(sockets=[listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop_answers = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stop_answers()
        super().handle_exit(sig, frame)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        message = f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --port"
        raise UsageError(message) from error


def _lane(found: Found, template: ChatTemplate | None) -> Iterator[str]:
    """Yield what is said of the lane, and of a template that leaves something out."""
    if template is None:
        yield f"lane {found.lane} of {found.server}: {found.why}"
        return
    yield f"lane raw by template of {found.server}: it is asked to complete the prompts of {template.name}"
    if not template.habits.shows_tools:
        yield "warning: the template does not show tools, so the model will not know them; pass another --template"
    elif not template.habits.takes_calls:
        yield "warning: the template takes no calls in a conversation; pass another --template for agents"


async def _introduction(upstream: Upstream, options: GatewayOptions, port: int, host: str) -> Iterator[str]:
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}"
    lines = [f"on {url} until Ctrl-C, in front of {upstream.url}"]
    try:
        found = await upstream.find()
    except ProviderError as error:
        lines.append(f"the upstream does not answer yet: {error.detail}")
    else:
        names = [options.model] if options.model else [each["id"] for each in found.models]
        lines += _lane(found, options.template)
        if found.lane == "raw" or options.template is not None:
            of = {"+".join(dialect_names(options.dialect or name)) for name in names}
            lines.append(f"dialect {', '.join(sorted(of)) or 'by the model of each request'}")
        lines.append(f"models {', '.join(names) or 'unknown'}")
    lines += [f"OpenAI's clients: base_url {url}/v1", f"Anthropic's clients: base_url {url}"]
    return iter(lines)
