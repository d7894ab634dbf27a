"""DeepSeek V3.1: the name, a separator, then JSON."""

from ..grammar.dialect import NAME, Call, KnownDialect, Many, Maybe
from .parts import ARGUMENTS, THINK

DEEPSEEK_V31 = KnownDialect(
    "deepseek_v31",
    (
        "<｜tool▁calls▁begin｜>",
        Many(Call("<｜tool▁call▁begin｜>", NAME, "<｜tool▁sep｜>", ARGUMENTS, "<｜tool▁call▁end｜>")),
        Maybe("<｜tool▁calls▁end｜>"),
    ),
    reasoning=THINK,
    models=("deepseek-v3.1", "deepseek-v3.2-exp"),
    parsers=("deepseekv31",),
    proven_by=("llama.cpp", "Ollama", "vLLM"),
)
