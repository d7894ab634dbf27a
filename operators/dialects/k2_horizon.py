"""K2 Horizon: JSON, or pairs of tags, which may say their type."""

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import CALL, THINK, pairs

_PAIRS = pairs("ifm|", Maybe("<ifm|arg_type>", Text("flag"), "</ifm|arg_type>"), typing="schema")

K2_HORIZON = KnownDialect(
    "k2_horizon",
    (
        "<ifm|tool_calls>",
        Many(Call("<ifm|tool_call>", Alt(CALL, (NAME, _PAIRS)), "</ifm|tool_call>")),
        Maybe("</ifm|tool_calls>"),
    ),
    reasoning=(*THINK, *((f"<ifm|{name}>", f"</ifm|{name}>") for name in ("think", "think_fast", "think_faster"))),
    thinking=("k2-horizon",),
    proven_by=("vLLM",),
)
