"""FireFunction v2: a list of calls behind a word."""

from ..grammar.dialect import Dialect
from .parts import CALLS

FIREFUNCTION_V2 = Dialect("firefunction_v2", ("functools", CALLS))
