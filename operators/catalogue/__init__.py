"""The table of dialects, and information about each."""

from .dialect_for import AUTO, DIALECTS

__all__ = ["AUTO", "DIALECTS"]
