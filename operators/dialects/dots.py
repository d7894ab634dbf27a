"""dots.llm: one call a block."""

from ..dialect import Dialect
from .parts import THINK, invoke

DOTS = Dialect("dots", ("<dots_function_call>", *invoke(), "</dots_function_call>"), reasoning=THINK)
