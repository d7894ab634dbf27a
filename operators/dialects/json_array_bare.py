"""Models without markers: a list of calls."""

from ..grammar.dialect import Dialect
from .parts import CALLS

JSON_ARRAY_BARE = Dialect("json_array_bare", (CALLS,))
