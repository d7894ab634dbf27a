"""How models write calls into their text, as data: one grammar a file."""

from .auto import AUTO
from .table import DIALECTS

__all__ = ["AUTO", "DIALECTS"]
