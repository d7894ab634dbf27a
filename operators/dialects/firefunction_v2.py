"""FireFunction v2: as Phi-4-mini."""

from ..dialect import Dialect
from .phi4_mini import PHI4_MINI

FIREFUNCTION_V2 = Dialect("firefunction_v2", PHI4_MINI.grammar)
