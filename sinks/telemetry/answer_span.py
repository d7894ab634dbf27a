"""`AnswerSpan`: the span of one answer, and the metrics that are recorded at its end.

`output_messages` returns what the model wrote, in the form of `gen_ai.output.messages`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import TokenUsage
from ...events.tool_invocation import ToolInvocation
from ..collect import Collected, Collector
from .log_answers import answer_status, error_type, finish_reason, finish_reasons, first_known
from .otel_names import PROVIDERS
from .otel_setup import OtelSetup, fail, seconds

_PROSE = ("text", "reasoning", "refusal")


def output_messages(collected: Collected[Any], ends: Iterable[AnswerEnd]) -> list[dict[str, Any]]:
    """Return one message for each choice: its texts, its reasoning and the calls that may be run, in order.

    >>> from penstock.sinks.collect import Segment
    >>> output_messages(Collected(segments=[Segment("s", "text", content="Hi")]), [AnswerEnd(finish_reason="stop")])
    [{'role': 'assistant', 'parts': [{'type': 'text', 'content': 'Hi'}], 'finish_reason': 'stop'}]
    """
    reasons = {each.choice: finish_reason(each) for each in ends}
    parts: dict[int, list[dict[str, Any]]] = {choice: [] for choice in reasons}
    calls = {each.id: each for each in collected.invocations}
    for segment in collected.segments:
        of_choice = parts.setdefault(segment.metadata.get("choice", 0), [])
        if (call := calls.pop(segment.id, None)) is not None:
            of_choice.append(_call(call))
        elif segment.type in _PROSE:
            of_choice.append({"type": segment.type, "content": segment.content})
    if calls:  # without its segment, nothing tells the choice of a call
        parts.setdefault(0, []).extend(map(_call, calls.values()))
    return [
        {"role": "assistant", "parts": parts[choice], "finish_reason": reasons.get(choice, "error")}
        for choice in sorted(parts)
    ]


def _call(call: ToolInvocation) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}


_ANSWERING = ("chat", "generate_content", "text_completion")
"""The operations of spans that stand for a model's answer."""


class AnswerSpan:
    """One response of a model, with all of its choices.

    If another instrumentation has the spans of answers, or the current span is such a one, that one gets our own
    attributes, and what the conventions ask for is left to it.
    """

    def __init__(self, setup: OtelSetup, parent: Context, asked_at: int) -> None:
        current = trace.get_current_span(parent)
        self._setup = setup
        self._asked_at = asked_at
        self._is_ours = setup.answer_spans and not _is_of_answer(current, setup)
        self.span = self._started(parent) if self._is_ours else current
        self.context = trace.set_span_in_context(self.span, parent)
        self.turn_id: str | None = None
        self.has_events = False
        self.ends: dict[int, AnswerEnd] = {}
        self.calls = self.failed_calls = 0
        self._first_at: int | None = None
        self._last_at: int | None = None
        self._ended_at = asked_at
        self._labels = self._known(setup.provider, None)
        self._gaps = array("d")
        """The seconds between pieces of output, if they wait for the end, which tells the model."""
        self._collector = Collector[Any](keep_events=False) if setup.content and self._is_ours else None

    def note(self, event: Any) -> None:
        """Note an event of this answer."""
        self.has_events = True
        if self._collector is not None:
            self._collector.feed(event)

    def begin_output(self, now: int) -> None:
        """Note output of the model; the first one ends the wait."""
        if self._first_at is None:
            self._first_at = now

    def output(self, now: int) -> None:
        """Note a piece of output."""
        if self._last_at is None:
            self.begin_output(now)
        elif self._is_ours:
            gap = seconds(self._last_at, now)
            if self._setup.model is None:
                self._gaps.append(gap)
            else:
                self._setup.instruments.time_per_output_chunk.record(gap, self._labels, self.context)
        self._last_at = now

    def end(self, event: AnswerEnd, now: int) -> None:
        """Note the end of one choice."""
        self.ends[event.choice] = event
        self._ended_at = now

    def finish(self, error: BaseException | None, now: int) -> None:
        """End the span and record the metrics, at the time of the last `AnswerEnd`; `error` ended the stream."""
        ends = [self.ends[choice] for choice in sorted(self.ends)]
        ended_at = self._ended_at if ends else now
        if self.span.is_recording():
            self._tell(ends, error)
        if self._is_ours:
            self.span.end(ended_at)
            self._measure(ends, error, ended_at)

    def _started(self, parent: Context) -> Span:
        names, setup = self._setup.names, self._setup
        attributes: dict[str, AttributeValue] = {
            **setup.attributes,
            names.operation: names.chat,
            names.request_stream: True,
        }
        if setup.model is not None:
            attributes[names.request_model] = setup.model
        if setup.provider is not None:
            attributes[names.provider] = setup.provider
        name = names.chat if setup.model is None else f"{names.chat} {setup.model}"
        return setup.tracer.start_span(name, parent, SpanKind.CLIENT, attributes, start_time=self._asked_at)

    def _tell(self, ends: list[AnswerEnd], error: BaseException | None) -> None:
        names, span = self._setup.names, self.span
        status = answer_status(ends, error)
        ours = {
            names.status: status,
            names.raw_finish_reasons: [each.finish_reason_raw for each in ends if each.finish_reason_raw],
            names.calls: self.calls,
            names.failed_calls: self.failed_calls,
        }
        span.set_attributes({name: value for name, value in ours.items() if value})
        if not self._is_ours:
            return
        model: str | None = first_known(ends, "model")
        if model is not None and self._setup.model is None:
            span.update_name(f"{names.chat} {model}")
        usage: TokenUsage | None = first_known(ends, "usage")
        told: dict[str, Any] = {
            names.provider: self._provider(ends),
            names.response_model: model,
            names.response_id: first_known(ends, "response_id"),
            names.finish_reasons: finish_reasons(ends, error) or None,
            names.response_time_to_first_chunk: self._wait(),
        }
        if usage is not None:
            told |= {names.input_tokens: usage.prompt, names.output_tokens: usage.completion}
            told |= {names.cached_tokens: usage.cached or None, names.reasoning_tokens: usage.reasoning or None}
        span.set_attributes({name: value for name, value in told.items() if value is not None})
        if (kind := error_type(ends, error)) is not None:
            fail(span, names, kind, status)
        if self._collector is not None:
            self._setup.store(span, names.output_messages, output_messages(self._collector.close(), ends))

    def _measure(self, ends: list[AnswerEnd], error: BaseException | None, ended_at: int) -> None:
        names, instruments, context = self._setup.names, self._setup.instruments, self.context
        labels = self._known(self._provider(ends), first_known(ends, "model"))
        kind = error_type(ends, error)
        failed = labels if kind is None else {**labels, names.error_type: kind}
        instruments.duration.record(seconds(self._asked_at, ended_at), failed, context)
        if (wait := self._wait()) is not None:
            instruments.time_to_first_chunk.record(wait, labels, context)
        for gap in self._gaps:
            instruments.time_per_output_chunk.record(gap, labels, context)
        usage: TokenUsage | None = first_known(ends, "usage")
        if usage is not None:
            self._count(usage, labels)

    def _count(self, usage: TokenUsage, labels: dict[str, str]) -> None:
        names, instruments, context = self._setup.names, self._setup.instruments, self.context
        if instruments.token_usage is not None:
            for kind, number in (("input", usage.prompt), ("output", usage.completion)):
                instruments.token_usage.record(number, {**labels, names.token_type: kind}, context)
            return
        instruments.operation_input.record(usage.prompt, labels, context)
        instruments.operation_output.record(usage.completion, labels, context)
        labels = {**labels, names.token_modality: "unknown"}
        instruments.usage_input.add(usage.prompt, labels, context)
        instruments.usage_output.add(usage.completion, labels, context)
        if usage.cached:
            instruments.usage_cached.add(usage.cached, labels, context)
        if usage.reasoning:
            instruments.usage_reasoning.add(usage.reasoning, labels, context)

    def _known(self, provider: str | None, response_model: str | None) -> dict[str, str]:
        names = self._setup.names
        known = {
            names.operation: names.chat,
            names.provider: provider,
            names.request_model: self._setup.model,
            names.response_model: response_model,
        }
        return {name: value for name, value in known.items() if value is not None}

    def _wait(self) -> float | None:
        return None if self._first_at is None else seconds(self._asked_at, self._first_at)

    def _provider(self, ends: list[AnswerEnd]) -> str | None:
        api: str | None = first_known(ends, "api")
        return self._setup.provider or (None if api is None else PROVIDERS.get(api, api))


def _is_of_answer(span: Span, setup: OtelSetup) -> bool:
    """Whether a span stands for a model's answer, as far as its SDK lets the attributes be read."""
    attributes: Mapping[str, Any] = getattr(span, "attributes", None) or {}
    return span.is_recording() and attributes.get(setup.names.operation) in _ANSWERING
