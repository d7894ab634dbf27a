"""Inkling: the header names the tool, and the JSON does so again."""

from ..dialect import Alt, Dialect, Json, Maybe, Text

_END = Maybe("<|end_message|>")

INKLING = Dialect(
    "inkling",
    (
        "<|message_model|>",
        Alt(
            (Text("recipient", r"\w.:/-"), "<|content_invoke_tool_json|>", Json(args=("args",), root="object"), _END),
            ("<|content_text|>", Text("content"), _END),
            ("<|content_thinking|>", Text("reasoning"), _END),
        ),
    ),
)
