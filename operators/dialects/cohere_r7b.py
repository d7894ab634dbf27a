"""Command R7B, Command A: everything stands between markers."""

from ..dialect import Alt, Dialect, Json, Maybe, Text

COHERE_R7B = Dialect(
    "cohere_r7b",
    (
        Alt(
            (
                "<|START_ACTION|>",
                Json(name=("tool_name",), args=("parameters",), id=("tool_call_id",)),
                Maybe("<|END_ACTION|>"),
            ),
            ("<|START_RESPONSE|>", Text("content"), Maybe("<|END_RESPONSE|>")),
            ("<|START_TEXT|>", Text("content"), Maybe("<|END_TEXT|>")),
        ),
    ),
    reasoning=(("<|START_THINKING|>", "<|END_THINKING|>"),),
)
