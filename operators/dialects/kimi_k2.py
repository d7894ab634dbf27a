"""Kimi K2, K2-Thinking, K2.5: the call's id has the tool's name and the call's number; without one it is no call."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, THINK

_BEGIN, _END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_CALL = Call(
    "<|tool_call_begin|>",
    Text("id", r"\w.:/-", named=r"(?:functions\.)?([\w./-]+?):\d+"),
    *("<|tool_call_argument_begin|>", ARGUMENTS, Maybe("<|tool_call_end|>")),
)
_NOISE = Text("skip", r"^<")

KIMI_K2 = KnownDialect(
    "kimi_k2",
    (
        Alt(
            (Maybe(_BEGIN), _CALL, Many(_CALL), Maybe(_END)),
            # A section may be empty, and what is between its calls is nobody's text.
            (_BEGIN, _NOISE, Many(_CALL, _NOISE), _END),
        ),
    ),
    reasoning=(*THINK, ("◁think▷", "◁/think▷")),
    aliases=(("<|tool_call_section_begin|>", _BEGIN), ("<|tool_call_section_end|>", _END)),
    calls_in_reasoning=True,
    models=("kimi-k2", "kimi-linear"),
    thinking=("kimi-k2.*",),
    reasoning_from=(
        "the chat templates of Kimi K2.5 and K2.6; vLLM's and SGLang's parsers end it at `<|tool_calls_section_begin|>`"
    ),
    proven_by=("llama.cpp", "SGLang", "smg", "vLLM"),
)
