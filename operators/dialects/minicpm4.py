"""MiniCPM3 and MiniCPM4: calls as code, one per line, in a fence between markers."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import CODE, THINK

MINICPM4 = KnownDialect(
    "minicpm4",
    ("<|tool_call_start|>", "```python", Call(*CODE), Many(Call(*CODE)), "```", Maybe("<|tool_call_end|>")),
    reasoning=(("<|thought_start|>", "<|thought_end|>"), *THINK),
    layout="\n",
    models=("minicpm3", "minicpm4"),
    written_from="OpenBMB's code that renders and reads the calls of MiniCPM3 and MiniCPM4",
)
