"""Seed-OSS: the format of Qwen3-Coder, in tags of its own."""

from ..grammar.dialect import Alt, KnownDialect, Maybe
from .parts import FUNCTION

SEED_OSS = KnownDialect(
    "seed_oss",
    ("<seed:tool_call>", *FUNCTION, Alt(("</function>", Maybe("</seed:tool_call>")), "</seed:tool_call>")),
    reasoning=(("<seed:think>", "</seed:think>"),),
    calls_in_reasoning=True,
    layout="\n",
    models=("seed-oss",),
    reasoning_from="vLLM's parser, which ends it at `<seed:tool_call>`",
    proven_by=("ik_llama.cpp", "llama.cpp"),
)
