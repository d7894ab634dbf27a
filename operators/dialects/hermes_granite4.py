"""Granite 4.0 and 4.1: as Hermes, whose arguments may be a JSON text."""

from ..grammar.dialect import Dialect
from .hermes import HERMES

HERMES_GRANITE4 = Dialect("hermes_granite4", HERMES.grammar, reasoning=HERMES.reasoning, layout="\n")
