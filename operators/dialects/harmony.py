"""gpt-oss: each message has a channel, and a call a recipient."""

from ..dialect import NAME, Alt, Call, Dialect, Many, Maybe, Text
from .parts import ARGUMENTS

_START = "<|start|>assistant"
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
_CALLS = Alt((Maybe(_START), _CALL), (_START, _HEADED))
_SAYS = (Maybe(_START), _SAID)

HARMONY = Dialect(
    "harmony",
    (*(Many(Alt("<|start|>", "commentary")), Alt(_CALLS, _SAYS, _HEADED)),),
    leading=("to=functions.", "to=", "commentary"),
)
