"""DeepSeek V3.1."""

from ..dialect import NAME, Call, Dialect, Json, Many, Maybe

DEEPSEEK_V31 = Dialect(
    "deepseek_v31",
    (
        "<｜tool▁calls▁begin｜>",
        Many(
            Call("<｜tool▁call▁begin｜>", NAME, "<｜tool▁sep｜>", Json(name=(), root="object"), "<｜tool▁call▁end｜>")
        ),
        Maybe("<｜tool▁calls▁end｜>"),
    ),
    reasoning=(("<think>", "</think>"),),
)
