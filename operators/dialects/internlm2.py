"""InternLM 2 and 2.5, Intern-S1."""

from ..dialect import Dialect, Json, Maybe

INTERNLM2 = Dialect(
    "internlm2",
    ("<|action_start|>", "<|plugin|>", Json(), Maybe("<|action_end|>")),
)
