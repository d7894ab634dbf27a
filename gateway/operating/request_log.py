"""`RequestLog`: what each request leaves: one line of the log, and the metrics for Prometheus."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from time import monotonic
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...events.chunk_response import TokenUsage
from ...events.errors import ProviderError
from ...sinks.parts.event_words import printable
from .request_turns import StoppingError, Turns

_LOGGER: Final = logging.getLogger("penstock.gateway")
METRICS: Final = "/metrics"
CLIENT_LEFT: Final = 499
"""What the log has as the status of a request whose client has left before the end of the answer."""
_LONGEST: Final = 3000
"""Characters of a value in the line: names of models are what clients send, and errors what servers say."""
_MOST_MODELS: Final = 100
"""Models with series of their own: where the upstream has several, a client can ask for any name."""
_LONGEST_LABEL: Final = 200
"""Characters of a model's name with series of its own."""
_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class RequestLog:
    """Tells of each request when it has ended. What is noted of it is the dict `notes` in the state of its scope.

    - `paths`: those that have series of their own. `turns`: knows how many requests wait, and `open_streams` returns
      how many answers are on their way.
    - `shown_text`: returns a text without what no log may have.
    """

    def __init__(
        self,
        paths: Iterable[str],
        turns: Turns,
        open_streams: Callable[[], int],
        shown_text: Callable[[str], str] = str,
    ) -> None:
        self._shown_text = shown_text
        self._paths = frozenset(paths)
        self._models: set[str] = set()
        self._registry = registry = CollectorRegistry()
        name = "penstock_gateway_"
        self._requests = Counter(
            f"{name}requests", "Requests that ended.", ("path", "model", "status"), registry=registry
        )
        self._first = Histogram(
            f"{name}first_output_seconds",
            "Time from a request to the first output of its answer.",
            ("path", "model"),
            registry=registry,
            buckets=_SECONDS,
        )
        self._calls = Counter(
            f"{name}calls",
            "Calls by what became of them: passed as the upstream sent them, mended, blocked by a guard, or failed.",
            ("model", "outcome"),
            registry=registry,
        )
        self._errors = Counter(
            f"{name}upstream_errors",
            "Errors of the upstream by its status; of a stream that broke, transport.",
            ("model", "status"),
            registry=registry,
        )
        self._tokens = Counter(
            f"{name}tokens", "Tokens as the upstream counts them.", ("model", "kind"), registry=registry
        )
        streams = Gauge(f"{name}open_streams", "Answers of the upstream that are being read.", registry=registry)
        streams.set_function(open_streams)
        line = Gauge(f"{name}waiting_requests", "Requests that wait for their turn.", registry=registry)
        line.set_function(lambda: turns.waiting)

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return an ASGI app whose requests are told of."""

        async def told(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            notes: dict[str, Any] = {"_begin": monotonic(), "_status": 500}
            scope.setdefault("state", {})["notes"] = notes

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    notes["_status"] = message["status"]
                await send(message)

            try:
                await app(scope, receive, noted)
            finally:
                if scope["path"] != METRICS:
                    self._note(scope, notes)

        return told

    def exposed(self, request: Request) -> Response:
        """Return all metrics in the form that whoever asks can read."""
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={"content-type": kind})

    def _note(self, scope: Scope, notes: Mapping[str, Any]) -> None:
        status, took = notes["_status"], monotonic() - notes["_begin"]
        said = [scope["path"], *(f"{key}={_said(value)}" for key, value in notes.items() if _is_told(key, value))]
        path, *others = (printable(self._shown_text(each)[:_LONGEST]) for each in said)
        _LOGGER.info("%s %s %d %.2fs %s", scope["method"], path, status, took, " ".join(others))
        path = scope["path"] if scope["path"] in self._paths else "other"
        model = self._known(notes)
        self._requests.labels(path, model, str(status)).inc()
        if (first := notes.get("first")) is not None:
            self._first.labels(path, model).observe(first)
        mended, failed = notes.get("mended", 0), notes.get("failed", ())
        counts = {
            "passed": notes.get("calls", 0) - mended,
            "mended": mended,
            "blocked": len(notes.get("blocked", ())),
            "failed": len(failed),
        }
        for outcome, number in counts.items():
            if number:
                self._calls.labels(model, outcome).inc(number)
        if isinstance(usage := notes.get("tokens"), TokenUsage):
            self._tokens.labels(model, "prompt").inc(usage.prompt or 0)
            self._tokens.labels(model, "completion").inc(usage.completion or 0)
        error = notes.get("error")
        if isinstance(error, ProviderError) and not isinstance(error, StoppingError):
            self._errors.labels(model, "transport" if error.status is None else str(error.status)).inc()

    def _known(self, notes: Mapping[str, Any]) -> str:
        """Return the model with series of its own: one that a server lists, or has answered where it lists none."""
        model: str = notes.get("model", "")
        is_model = notes.get("_is_model")
        if is_model is None:
            is_model = not model or notes["_status"] < HTTPStatus.BAD_REQUEST
        if is_model and len(self._models) < _MOST_MODELS and len(model) <= _LONGEST_LABEL:
            self._models.add(model)
        return model if model in self._models else "other"


def _is_told(key: str, value: Any) -> bool:
    return not key.startswith("_") and value not in ("", None, (), [])


def _said(value: Any) -> str:
    match value:
        case TokenUsage(prompt=prompt, completion=completion):
            return f"{prompt}+{completion}"
        case float():
            return f"{value:.2f}s"
        case list() | tuple():
            return ",".join(map(str, cast("list[object]", value)))
        case _:
            return str(value)
