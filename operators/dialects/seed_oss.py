"""Seed-OSS: as Qwen3-Coder, in tags of its own."""

from ..grammar.dialect import Alt, Dialect, Maybe
from .parts import FUNCTION

SEED_OSS = Dialect(
    "seed_oss",
    ("<seed:tool_call>", *FUNCTION, Alt(("</function>", Maybe("</seed:tool_call>")), "</seed:tool_call>")),
    reasoning=(("<seed:think>", "</seed:think>"),),
    layout="\n",
)
