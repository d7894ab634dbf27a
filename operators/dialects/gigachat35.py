"""GigaChat 3.5: the format of DeepSeek V4, with another name in the tags."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import THINK, invoke

GIGACHAT35 = KnownDialect(
    "gigachat35",
    (
        "<｜GCML｜tool_calls>",
        Many(Call(*invoke("｜GCML｜", flagged=True))),
        Maybe("</｜GCML｜tool_calls>"),
    ),
    reasoning=THINK,
    layout="\n",
    models=("gigachat3.5",),
    written_from="the chat template of GigaChat 3.5",
)
