"""GigaChat 3 and 3.1: one call, up to the end."""

from ..dialect import Alt, Dialect, Json, Maybe

GIGACHAT3 = Dialect(
    "gigachat3",
    (
        Alt(("<|message_sep|>", "function call", "<|role_sep|>"), "<|function_call|>"),
        *(Json(root="object"), Maybe("</s>")),
    ),
)
