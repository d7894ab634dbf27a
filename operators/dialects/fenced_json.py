"""JSON in a fence."""

from ..dialect import Dialect, Json

FENCED_JSON = Dialect("fenced_json", ("```json", Json(), "```"))
