"""xLAM: a list of calls, bare, in a fence or after a marker."""

from ..grammar.dialect import Alt, KnownDialect, Maybe
from .parts import BARE_JSON, CALLS, JSON_FENCES, THINK

XLAM = KnownDialect(
    "xlam",
    (
        Alt(
            CALLS,
            ("```json", CALLS, "```"),
            ("[TOOL_CALLS]", CALLS),
            ("<tool_call>", CALLS, Maybe("</tool_call>")),
        ),
    ),
    reasoning=THINK,
    aliases=(("\n```json", "```json"),),
    models=("xlam", "xlam-2"),
    proven_by=("vLLM",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)
