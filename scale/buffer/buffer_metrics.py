"""`BufferMetrics`: what Prometheus is told of a buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response

from .kept_answer import End

METRICS: Final = "/metrics"


class BufferMetrics:
    """Counts the streams of this process.

    - `open_streams`, `lag`: return how many there are now, and for how many seconds the oldest byte waits for the log.
    - `settled`: streams that were ended for an owner that was gone. `replayed`: answers that were sent from the log.
    """

    def __init__(self, open_streams: Callable[[], int], lag: Callable[[], float]) -> None:
        self._registry = registry = CollectorRegistry()
        name = "penstock_buffer_"
        self._streams = Counter(
            f"{name}streams", "Kept requests that ended, by how.", ("end", "reason"), registry=registry
        )
        self._bytes = Counter(f"{name}bytes", "Bytes of the bodies of kept answers.", registry=registry)
        self._fenced = Counter(f"{name}fenced", "Streams that another process has claimed.", registry=registry)
        self.settled = Counter(
            f"{name}settled", "Streams that were ended for an owner that was gone.", registry=registry
        )
        self.replayed = Counter(f"{name}replayed", "Answers that were sent from the log.", registry=registry)
        streams = Gauge(f"{name}open_streams", "Kept requests that are on their way.", registry=registry)
        streams.set_function(open_streams)
        waiting = Gauge(f"{name}lag_seconds", "Seconds for which the oldest byte waits for the log.", registry=registry)
        waiting.set_function(lag)

    def ended(self, end: End, size: int, *, is_fenced: bool) -> None:
        """Count a kept request that has ended, with the bytes of its answer."""
        self._streams.labels(end.end, end.reason or "").inc()
        self._bytes.inc(size)
        if is_fenced:
            self._fenced.inc()

    def exposed(self, request: Request) -> Response:
        """Return all metrics in the form that whoever asks can read."""
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={"content-type": kind})
