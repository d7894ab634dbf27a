"""gpt-oss: each message names its channel, and a call names its recipient."""

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS

_CHANNEL = Alt("<|channel|>commentary", "<|channel|>analysis")
_TYPE = Alt(Maybe("<|constrain|>json"), ("<|constrain|>", Text("skip", r"\w-")), " json", " code")
_NAMED = (
    *(NAME, Many(_CHANNEL), _TYPE, "<|message|>"),
    Alt((ARGUMENTS, Maybe(Alt("<|call|>", "<|end|>", "<|return|>"))), "<|call|>"),
)
_CALL = Call(_CHANNEL, Alt(" to=functions.", "to=functions.", " to=", "to="), *_NAMED)
_HEADED = Call(Alt("to=functions.", "to="), *_NAMED)
_END = Maybe(Alt("<|end|>", "<|return|>"))
_SAID = Alt(
    ("<|channel|>analysis", "<|message|>", Text("reasoning"), _END),
    (
        *(Alt("<|channel|>final", "<|channel|>commentary"), _TYPE),
        *(Alt("<|message|>", " to=user<|message|>", " to=assistant<|message|>"), Text("content"), _END),
    ),
)

HARMONY = KnownDialect(
    "harmony",
    (Many(Alt("<|start|>", "commentary")), Maybe("<|start|>assistant"), Alt(_CALL, _SAID, _HEADED)),
    leading=("to=functions.", "to=", "commentary"),
    models=("gpt-oss",),
    parsers=("gpt-oss", "openai"),
    proven_by=("llama.cpp",),
)
