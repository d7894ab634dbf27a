"""Kimi's: K2 and K3, and the reasoning of those that write no calls."""

from __future__ import annotations

from ..grammar.dialect import Alt, Attrs, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, THINK

_K2_BEGIN, _K2_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_K2_CALL = Call(
    "<|tool_call_begin|>",
    Text("id", r"\w.:/-", named=r"(?:functions\.)?([\w./-]+?):\d+"),
    *("<|tool_call_argument_begin|>", ARGUMENTS, Maybe("<|tool_call_end|>")),
)
_K2_NOISE = Text("skip", r"^<")

KIMI_K2 = KnownDialect(
    "kimi_k2",
    about=(
        "Kimi K2, K2-Thinking, K2.5: the call's id has the tool's name and the call's number; without one it is "
        "no call."
    ),
    grammar=(
        Alt(
            (Maybe(_K2_BEGIN), _K2_CALL, Many(_K2_CALL), Maybe(_K2_END)),
            # A section may be empty, and what is between its calls is nobody's text.
            (_K2_BEGIN, _K2_NOISE, Many(_K2_CALL, _K2_NOISE), _K2_END),
        ),
    ),
    reasoning=(*THINK, ("◁think▷", "◁/think▷")),
    aliases=(("<|tool_call_section_begin|>", _K2_BEGIN), ("<|tool_call_section_end|>", _K2_END)),
    calls_in_reasoning=True,
    models=("kimi-k2", "kimi-linear"),
    thinking=("kimi-k2.*",),
    reasoning_from=(
        "the chat templates of Kimi K2.5 and K2.6; vLLM's and SGLang's parsers end it at `<|tool_calls_section_begin|>`"
    ),
    proven_by=("llama.cpp", "SGLang", "smg", "vLLM"),
)


_K3_TOOLS = (
    "<|open|>tools<|sep|>",
    Many(
        Call(
            *("<|open|>call", Attrs((("tool", "name"), ("index", "skip"))), "<|sep|>"),
            Many(
                *("<|open|>argument", Attrs((("key", "key"), ("type", "flag"))), "<|sep|>"),
                *(Text("value", typing="flagged"), "<|close|>argument<|sep|>"),
            ),
            "<|close|>call<|sep|>",
        ),
    ),
    Maybe("<|close|>tools<|sep|>"),
)

_K3_RESPONSE = Alt("<|open|>response<|sep|>", "<|close|>response<|sep|>")  # the prompt may have opened it

KIMI_K3 = KnownDialect(
    "kimi_k3",
    about="Kimi K3: elements that open and close.",
    grammar=(
        Alt(
            _K3_TOOLS,
            (_K3_RESPONSE, Text("content"), Maybe("<|close|>response<|sep|>"), Maybe(*_K3_TOOLS)),
        ),
        Maybe("<|close|>message<|sep|>"),
    ),
    reasoning=(("<|open|>think<|sep|>", "<|close|>think<|sep|>"),),
    calls_in_reasoning=True,
    ends_reasoning=("<|open|>response<|sep|>",),
    thinking=("kimi-k3",),
    reasoning_from="the chat template of Kimi K3; SGLang's parser ends it where the response or the calls open",
    proven_by=("SGLang", "vLLM"),
)


THINK_TAGS = KnownDialect(
    "think_tags",
    about="Reasoning between tags, Kimi VL's too, and no calls.",
    reasoning=(*THINK, ("◁think▷", "◁/think▷")),
    models=("kimi-vl", "kimi-dev"),
    proven_by=("Ollama",),
    not_in_auto="kimi_k2",
)
