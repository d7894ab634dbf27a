"""DeepSeek V3.1: the name, a separator, then JSON."""

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, THINK

DEEPSEEK_V31 = KnownDialect(
    "deepseek_v31",
    (
        Alt(
            (
                "<｜tool▁calls▁begin｜>",
                Many(Call("<｜tool▁call▁begin｜>", NAME, "<｜tool▁sep｜>", ARGUMENTS, "<｜tool▁call▁end｜>")),
                Maybe("<｜tool▁calls▁end｜>"),
            ),
            # The output of a tool that the model makes up is text of its answer.
            ("<｜tool▁output▁begin｜>", Text("content"), "<｜tool▁output▁end｜>"),
        ),
    ),
    reasoning=THINK,
    thinking_if_asked=("deepseek-v3.1", "deepseek-chat-v3.1", "deepseek-v3.2-exp"),
    parsers=("deepseekv31",),
    proven_by=("llama.cpp", "Ollama", "vLLM"),
)
