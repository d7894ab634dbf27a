"""Hunyuan-A13B: with tags around its answer, the calls inside of them or behind."""

from ..grammar.dialect import Alt, Call, Dialect, Maybe, Text
from .parts import CALLS, THINK

_CALLS = Call("<tool_calls>", CALLS, Maybe("</tool_calls>"))

HUNYUAN_A13B = Dialect(
    "hunyuan_a13b",
    (Alt(_CALLS, ("<answer>", Maybe(Text("content")), Maybe(_CALLS), Maybe("</answer>"))),),
    reasoning=THINK,
)
