"""Phi-4-mini: a list of calls behind a word, or between the markers of its template."""

from ..grammar.dialect import Alt, Dialect, Json, Maybe
from .parts import CALLS

PHI4_MINI = Dialect("phi4_mini", (Alt(("functools", CALLS), ("<|tool_call|>", Json(), Maybe("<|/tool_call|>"))),))
