"""Chains of operators that calls pass on a short way."""

from __future__ import annotations

from typing import Any

from operator_contract import TURN

from penstock.operators import (
    KEYS,
    Detector,
    FieldSpec,
    Limits,
    argument_progress,
    compose,
    partial_arguments,
    redact,
    stream_fields,
    to_invocations,
    to_segments,
    tool_call_updates,
)
from penstock.operators.engine.stage import Operator
from penstock.pipeline.strategies import api_tool_call

SHORT = Limits(arguments_length=90, key_length=9, deferred_length=30)
SEGMENTS = to_segments(turn_id=TURN)
FIELDS = stream_fields()
AGAIN: Any = to_invocations()
"""For a chain whose types do not say that its events may come twice."""
WORDS = (
    Detector("word", "[xy][az ][bc]x?"),
    Detector("tail", r"(?<![b\n])a[\nz][<>\t€][<>\t€]*"),
    Detector("mixed", 'c[\\n"] [a-z]'),
)
"""What is in many of the texts, or begins in them."""
CHAINS: dict[str, Operator[Any, Any]] = {
    "segments": SEGMENTS,
    "eager": compose(to_segments(turn_id=TURN, eager=True), FIELDS, to_invocations(keep_segments=True)),
    "with arguments": compose(to_segments(turn_id=TURN, end_arguments=True), FIELDS, to_invocations()),
    "fields": compose(SEGMENTS, FIELDS),
    "at once": compose(SEGMENTS, stream_fields(start="immediate"), to_invocations(keep_segments=True)),
    "invocations": compose(SEGMENTS, to_invocations()),
    "the chain": compose(SEGMENTS, FIELDS, to_invocations()),
    "the chain with segments": compose(SEGMENTS, FIELDS, to_invocations(keep_segments=True)),
    "short": compose(
        to_segments(turn_id=TURN, limits=SHORT), stream_fields(limits=SHORT), to_invocations(keep_segments=True)
    ),
    "several fields": compose(
        SEGMENTS,
        stream_fields([FieldSpec("write_file", paths=("path", "content"))]),
        to_invocations(keep_segments=True),
    ),
    "markers": compose(
        SEGMENTS, stream_fields([FieldSpec("write_file", "content", markers=("<a>", "</a>"))]), to_invocations()
    ),
    "updates": api_tool_call(updates=True, turn_id=TURN),
    "updates behind": compose(SEGMENTS, FIELDS, tool_call_updates(), to_invocations()),
    "updates and progress": compose(
        SEGMENTS, tool_call_updates(keep_segments=True), argument_progress(keep_segments=True), FIELDS
    ),
    "progress": compose(SEGMENTS, argument_progress()),
    "partial": compose(SEGMENTS, partial_arguments(keep_segments=True), FIELDS, to_invocations()),
    "keys": compose(SEGMENTS, redact(KEYS), FIELDS, to_invocations()),
    "redacted": compose(SEGMENTS, redact(*WORDS), FIELDS, to_invocations(keep_segments=True)),
    "redacted invocations": compose(SEGMENTS, FIELDS, redact(*WORDS), to_invocations()),
    "two of one kind": compose(SEGMENTS, to_invocations(keep_segments=True), AGAIN),
}
