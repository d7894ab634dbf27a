"""Reasoning between tags, Kimi VL's too, and no calls."""

from ..grammar.dialect import Dialect
from .parts import THINK

THINK_TAGS = Dialect("think_tags", reasoning=(*THINK, ("◁think▷", "◁/think▷")))
