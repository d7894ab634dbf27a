"""FireFunction v2: a list of calls behind a word."""

from ..dialect import Alt, Dialect
from .parts import CALL, CALLS

FIREFUNCTION_V2 = Dialect("firefunction_v2", ("functools", Alt(CALLS, CALL)))
