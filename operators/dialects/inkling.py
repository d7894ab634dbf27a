"""Inkling: the header names the tool, and so does the JSON; the beginning of the first message is in the prompt."""

from ..grammar.dialect import Alt, Json, KnownDialect, Many, Maybe, Text

_END = (Maybe("<|end_message|>"), Many("<|content_model_end_sampling|>"))
_CALL = ("<|content_invoke_tool_json|>", Json(args=("args",), root="object"), *_END)
_SAID = Alt(
    ("<|content_text|>", Text("content"), *_END),
    ("<|content_thinking|>", Text("reasoning"), *_END),
)

INKLING = KnownDialect(
    "inkling",
    (Alt(("<|message_model|>", Alt((Text("recipient", r"\w.:/-"), *_CALL), _SAID)), _CALL, _SAID),),
    models=("inkling",),
    proven_by=("SGLang",),
)
