"""Claude 2 and 3 without native calls."""

from ..dialect import Call, Dialect, Many, Maybe
from .parts import invoke

ANTHROPIC_LEGACY = Dialect(
    "anthropic_legacy",
    ("<function_calls>", Many(Call(*invoke())), Maybe("</function_calls>")),
)
