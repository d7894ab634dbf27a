"""`OtelStart`: finds the SDK when a stream begins. Needs `pip install ".[otel]"`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from opentelemetry import metrics, trace

from .contained import log_contained
from .otel_instruments import otel_instruments
from .otel_setup import OtelSetup
from .otel_target import OtelTarget

_SCOPE = "penstock"


class OtelStart:
    """Makes the target of each stream; the instruments are made once for each pair of providers."""

    def __init__(
        self,
        options: dict[str, Any],
        tracer_provider: trace.TracerProvider | None,
        meter_provider: metrics.MeterProvider | None,
    ) -> None:
        self._options = options
        self._tracer_provider = tracer_provider
        self._meter_provider = meter_provider
        self._made: tuple[trace.TracerProvider, metrics.MeterProvider, OtelSetup] | None = None

    def target(self) -> OtelTarget | None:
        """Return what observes a stream; None if there is no SDK, so that nothing would be recorded."""
        tracers = self._tracer_provider or trace.get_tracer_provider()
        meters = self._meter_provider or metrics.get_meter_provider()
        if _is_of_api(tracers) and _is_of_api(meters):
            return None
        try:
            return OtelTarget(self._setup_of(tracers, meters))
        except Exception as error:  # noqa: BLE001 - of an SDK; the stream goes on
            log_contained("did not start", error)
            return None

    def _setup_of(self, tracers: trace.TracerProvider, meters: metrics.MeterProvider) -> OtelSetup:
        made = self._made
        if made is None or made[0] is not tracers or made[1] is not meters:
            tracer, meter = tracers.get_tracer(_SCOPE, _version()), meters.get_meter(_SCOPE, _version())
            setup = OtelSetup(tracer, otel_instruments(meter, self._options["names"]), **self._options)
            made = self._made = (tracers, meters, setup)
        return made[2]


def _is_of_api(provider: object) -> bool:
    """Whether a provider is one of the API's own, which record nothing."""
    return type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))


def _version() -> str | None:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return None
