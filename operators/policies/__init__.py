"""Policies for `guard`: what a call or an answer must not do."""

from .ready import (
    PATH_FIELDS,
    AllowedTools,
    AnswerSize,
    CallCount,
    ClosedField,
    FieldFunction,
    FieldPattern,
    FieldSize,
    FieldsJudgedBy,
    Holds,
    InsideRoot,
    Judge,
    Policy,
    ValidCalls,
)

__all__ = [
    "PATH_FIELDS",
    "AllowedTools",
    "AnswerSize",
    "CallCount",
    "ClosedField",
    "FieldFunction",
    "FieldPattern",
    "FieldSize",
    "FieldsJudgedBy",
    "Holds",
    "InsideRoot",
    "Judge",
    "Policy",
    "ValidCalls",
]
