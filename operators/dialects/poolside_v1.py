"""Poolside, Laguna, Ling 3: as GLM-4.7."""

from ..grammar.dialect import Dialect
from .glm47 import GLM47

POOLSIDE_V1 = Dialect("poolside_v1", GLM47.grammar, reasoning=GLM47.reasoning)
