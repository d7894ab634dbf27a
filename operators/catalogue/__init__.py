"""The table of dialects, and what is known of each."""

from .table import AUTO, DIALECTS

__all__ = ["AUTO", "DIALECTS"]
