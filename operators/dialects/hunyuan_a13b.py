"""Hunyuan-A13B: with tags around its answer, or its role before it; calls are inside of the tags or after them."""

from ..grammar.dialect import Alt, Call, KnownDialect, Maybe, Text
from .parts import ANSWER_TAGS, CALLS, THINK

_CALLS = Call("<tool_calls>", CALLS, Maybe("</tool_calls>"))
_ROLE = "助手\N{FULLWIDTH COLON}"
"""The template asks for it before what is no call."""
_SAID = (_ROLE, Maybe(Text("content")), Maybe(_CALLS), Maybe("<|eos|>"))

HUNYUAN_A13B = KnownDialect(
    "hunyuan_a13b",
    (Alt(_CALLS, ("<answer>", Maybe(Text("content")), Maybe(_CALLS), Maybe("</answer>")), _SAID),),
    reasoning=THINK,
    leading=(_ROLE,),
    models=("hunyuan-a13b", "hunyuan-7b", "hunyuan-4b", "hunyuan-1.8b", "hunyuan-0.5b"),
    parsers=("hunyuan",),
    proven_by=("vLLM",),
    not_in_auto=ANSWER_TAGS,
)
