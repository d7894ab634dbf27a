"""Muse: each message names its recipient."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import invoke

_FROM = "<|start|>assistant"
_END = Maybe(Alt("<|eom|>", "<|eot|>"))

MUSE_GLIMMER = KnownDialect(
    "muse_glimmer",
    (
        Alt(
            (
                *(Alt(f"{_FROM} to=", "to="), Text("recipient", r"\w.-"), "<|message|>", "<atem:function_calls>"),
                *(Many(Call(*invoke("atem:", typing="literal"))), Maybe("</atem:function_calls>"), _END),
            ),
            (Alt(f"{_FROM} to=self<|message|>", "to=self<|message|>"), Text("reasoning"), _END),
            (
                Alt(f"{_FROM} to=user<|message|>", "to=user<|message|>", f"{_FROM}<|message|>", "<|message|>"),
                *(Text("content"), _END),
            ),
        ),
    ),
    leading=("to=", "to=self<|message|>", "to=user<|message|>"),
    models=("muse",),
    proven_by=("vLLM",),
    not_in_auto="has harmony's markers and means something else with them",
)
