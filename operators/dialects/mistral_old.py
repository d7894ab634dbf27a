"""Mistral 7B v0.3, Nemo, Small up to 3.1."""

from ..dialect import Alt, Dialect, Json, Maybe

MISTRAL_OLD = Dialect(
    "mistral_old",
    ("[TOOL_CALLS]", Alt(Json(root="array"), Json(root="object")), Maybe("[/TOOL_CALLS]")),
)
