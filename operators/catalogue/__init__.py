"""The table of dialects, and information about each."""

from .auto import AUTO
from .table import DIALECTS

__all__ = ["AUTO", "DIALECTS"]
