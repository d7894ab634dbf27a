"""ERNIE 4.5: the format of Hermes, with tags around the answer's text."""

from ..grammar.dialect import Alt, KnownDialect, Maybe, Text
from .hermes import HERMES
from .parts import ANSWER_TAGS

ERNIE45 = KnownDialect(
    "ernie45",
    (Alt(HERMES.grammar, ("<response>", Text("content"), Maybe("</response>"))),),
    reasoning=HERMES.reasoning,
    models=("ernie-4.5",),
    thinking=("ernie-4.5*thinking",),
    proven_by=("vLLM",),
    not_in_auto=ANSWER_TAGS,
)
