"""ERNIE 4.5: as Hermes, with tags around what it says."""

from ..grammar.dialect import Alt, Dialect, Maybe, Text
from .hermes import HERMES

ERNIE45 = Dialect(
    "ernie45",
    (Alt(HERMES.grammar, ("<response>", Text("content"), Maybe("</response>"))),),
    reasoning=HERMES.reasoning,
)
