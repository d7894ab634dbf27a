"""Phi-4-mini."""

from ..dialect import Dialect
from .parts import CALLS

PHI4_MINI = Dialect("phi4_mini", ("functools", CALLS))
