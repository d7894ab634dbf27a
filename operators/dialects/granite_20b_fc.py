"""Granite 20B."""

from ..dialect import Dialect, Json

GRANITE_20B_FC = Dialect("granite_20b_fc", ("<function_call>", Json(root="object")))
