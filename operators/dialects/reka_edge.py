"""Reka Edge: as Hermes."""

from ..grammar.dialect import Dialect
from .hermes import HERMES

REKA_EDGE = Dialect("reka_edge", HERMES.grammar, reasoning=HERMES.reasoning, layout="\n")
