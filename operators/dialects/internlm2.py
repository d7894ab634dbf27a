"""InternLM 2 and 2.5; Intern-S1, which thinks."""

from ..grammar.dialect import Dialect, Json, Maybe
from .parts import THINK

INTERNLM2 = Dialect(
    "internlm2",
    ("<|action_start|>", "<|plugin|>", Json(), Maybe("<|action_end|>")),
    reasoning=THINK,
)
