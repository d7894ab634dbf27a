"""Operators: one per file, named like its function. They need no provider SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from .aggregate_fragments import aggregate_fragments
    from .argument_progress import argument_progress
    from .calls.field_checker import FieldVerdict
    from .calls.field_spec import FieldSpec
    from .catalogue.dialect_for import dialect_for
    from .engine.drive import adrive, drive
    from .engine.limits import Limits
    from .engine.stage import Completed, Failed, Interrupted, Operator, compose, lift, stage
    from .extract_json_fields import extract_json_fields
    from .grammar.dialect import Dialect
    from .guard import guard
    from .holdback import holdback
    from .interrupt_on import interrupt_on
    from .json_fragments import json_fragments
    from .parse_text import parse_text
    from .partial_arguments import PartialArguments, partial_arguments
    from .partial_output import PartialOutput, partial_output
    from .redact import redact
    from .redaction.detectors import CARD, EMAIL, KEYS, PHONE, Detector
    from .split_reasoning import split_reasoning
    from .stream_fields import stream_fields
    from .strip_markers import strip_markers
    from .to_invocations import to_invocations
    from .to_segments import to_segments
    from .tool_call_updates import tool_call_updates
    from .validate import validate
    from .whole_calls import whole_calls
    from .within import within
    from .writing.dialect_instructions import dialect_instructions
    from .writing.render_call import render_call

__all__ = [
    "CARD",
    "EMAIL",
    "KEYS",
    "PHONE",
    "Completed",
    "Detector",
    "Dialect",
    "Failed",
    "FieldSpec",
    "FieldVerdict",
    "Interrupted",
    "Limits",
    "Operator",
    "PartialArguments",
    "PartialOutput",
    "adrive",
    "aggregate_fragments",
    "argument_progress",
    "compose",
    "dialect_for",
    "dialect_instructions",
    "drive",
    "extract_json_fields",
    "guard",
    "holdback",
    "interrupt_on",
    "json_fragments",
    "lift",
    "parse_text",
    "partial_arguments",
    "partial_output",
    "redact",
    "render_call",
    "split_reasoning",
    "stage",
    "stream_fields",
    "strip_markers",
    "to_invocations",
    "to_segments",
    "tool_call_updates",
    "validate",
    "whole_calls",
    "within",
]

lazy_names(
    __name__,
    __all__,
    {
        "calls.field_checker": ("FieldVerdict",),
        "calls.field_spec": ("FieldSpec",),
        "catalogue.dialect_for": ("dialect_for",),
        "engine.drive": ("adrive", "drive"),
        "engine.limits": ("Limits",),
        "engine.stage": ("Completed", "Failed", "Interrupted", "Operator", "compose", "lift", "stage"),
        "grammar.dialect": ("Dialect",),
        "partial_arguments": ("PartialArguments",),
        "partial_output": ("PartialOutput",),
        "redaction.detectors": ("CARD", "EMAIL", "KEYS", "PHONE", "Detector"),
        "writing.dialect_instructions": ("dialect_instructions",),
        "writing.render_call": ("render_call",),
    },
)
