"""JSON in a fence, as small models and many prompts have it."""

from ..dialect import Dialect, Json

FENCED_JSON = Dialect("fenced_json", ("```json", Json(), "```"), layout="\n")
