"""The table of dialects, and information about each."""

from .table import AUTO, DIALECTS

__all__ = ["AUTO", "DIALECTS"]
