"""gpt-oss: each message names its channel, and a call names its recipient."""

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS

_CHANNEL = Alt("<|channel|>commentary", "<|channel|>analysis")
_TYPE = Alt(Maybe("<|constrain|>json"), ("<|constrain|>", Text("skip", r"\w-")), " json", " code")
_CLOSER = Alt("<|call|>", "<|end|>", "<|return|>")
_NAMED = (NAME, Many(_CHANNEL), _TYPE, "<|message|>")
_JSON = Alt((ARGUMENTS, Maybe(_CLOSER)), (Text("wrong"), _CLOSER), "<|call|>")
_FREE = Alt((ARGUMENTS, Maybe(_CLOSER)), (Text("value"), _CLOSER), "<|call|>")
"""Tools of the platform, such as `python`, may take a text."""
_CALLS = (
    Call(_CHANNEL, Alt(" to=functions.", "to=functions."), *_NAMED, _JSON),
    Call(_CHANNEL, Alt(" to=", "to="), *_NAMED, _FREE),
    Call("to=functions.", *_NAMED, _JSON),
    Call("to=", *_NAMED, _FREE),
)
_END = Maybe(Alt("<|end|>", "<|return|>"))
_SAID = Alt(
    ("<|channel|>analysis", "<|message|>", Text("reasoning"), _END),
    (
        *(Alt("<|channel|>final", "<|channel|>commentary"), _TYPE),
        *(Maybe(Alt(" to=user", " to=assistant")), Maybe("<|channel|>final"), "<|message|>", Text("content"), _END),
    ),
)

HARMONY = KnownDialect(
    "harmony",
    (Many(Alt("<|start|>", "commentary")), Maybe("<|start|>assistant"), Alt(*_CALLS, _SAID)),
    leading=("to=functions.", "to=", "commentary"),
    models=("gpt-oss",),
    parsers=("gpt-oss", "openai"),
    proven_by=("llama.cpp",),
)
