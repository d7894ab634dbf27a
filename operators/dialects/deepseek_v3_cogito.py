"""Cogito v2: the format of DeepSeek V3, whose markers some models write in ASCII."""

from ..grammar.dialect import Alt, KnownDialect, Many, Maybe, Text
from .deepseek_v3_r1 import DEEPSEEK_V3_R1

DEEPSEEK_V3_COGITO = KnownDialect(
    "deepseek_v3_cogito",
    (
        Alt(
            (*DEEPSEEK_V3_R1.grammar, Maybe("<｜end▁of▁sentence｜>")),
            # The outputs of tools that the model makes up are nobody's text.
            (
                "<｜tool▁outputs▁begin｜>",
                Many("<｜tool▁output▁begin｜>", Text("skip"), "<｜tool▁output▁end｜>"),
                "<｜tool▁outputs▁end｜>",
            ),
        ),
    ),
    aliases=tuple(
        (f"{before}<|{words}|>", f"{before}<｜{words}｜>")
        for before, words in (
            ("", "tool▁calls▁begin"),
            ("", "tool▁call▁begin"),
            ("function", "tool▁sep"),
            ("", "tool▁call▁end"),
            ("", "tool▁calls▁end"),
            ("", "end▁of▁sentence"),
        )
    ),
    reasoning=DEEPSEEK_V3_R1.reasoning,
    models=("cogito*671b",),
    proven_by=("Ollama",),
)
