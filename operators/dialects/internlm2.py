"""InternLM 2 and 2.5; Intern-S1, which thinks."""

from ..grammar.dialect import Json, KnownDialect, Maybe
from .parts import THINK

INTERNLM2 = KnownDialect(
    "internlm2",
    ("<|action_start|>", "<|plugin|>", Json(), Maybe("<|action_end|>")),
    reasoning=THINK,
    models=("internlm2", "internlm2.*", "intern-s1"),
    parsers=("internlm", "interns1"),
    proven_by=("vLLM",),
)
