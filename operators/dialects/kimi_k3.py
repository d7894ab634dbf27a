"""Kimi K3: elements that open and close."""

from ..grammar.dialect import Alt, Attrs, Call, KnownDialect, Many, Maybe, Text

_TOOLS = (
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

_RESPONSE = Alt("<|open|>response<|sep|>", "<|close|>response<|sep|>")  # the prompt may have opened it

KIMI_K3 = KnownDialect(
    "kimi_k3",
    (
        Alt(
            _TOOLS,
            (_RESPONSE, Text("content"), Maybe("<|close|>response<|sep|>"), Maybe(*_TOOLS)),
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
