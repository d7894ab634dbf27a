"""The table of dialects, and what is known of each."""

from .auto import AUTO
from .table import DIALECTS

__all__ = ["AUTO", "DIALECTS"]
