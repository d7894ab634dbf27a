"""gpt-oss: each message has a channel, and a call a recipient."""

from ..dialect import NAME, Alt, Dialect, Maybe, Text
from .parts import ARGUMENTS

_START = Maybe("<|start|>", Maybe("assistant"))
_CHANNEL = ("<|channel|>", Alt("commentary", "analysis"))
_TO = ("to=functions.", NAME)
_BODY = (
    *(Maybe(Alt("<|constrain|>json", "json")), "<|message|>", ARGUMENTS),
    Maybe(Alt("<|call|>", "<|end|>", "<|return|>")),
)
_END = Maybe(Alt("<|end|>", "<|return|>"))

HARMONY = Dialect(
    "harmony",
    (
        _START,
        Alt(
            ("<|channel|>", Alt("commentary to=functions.", "analysis to=functions."), NAME, *_BODY),
            (*_CHANNEL, *_TO, *_BODY),
            (*_TO, Maybe(*_CHANNEL), *_BODY),
            ("<|channel|>", "analysis", "<|message|>", Text("reasoning"), _END),
            (
                *("<|channel|>", Alt("final", "commentary"), Maybe("<|constrain|>json"), "<|message|>"),
                *(Text("content"), _END),
            ),
        ),
    ),
    leading=("to=functions.",),
)
