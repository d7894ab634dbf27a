"""The top floor: ready-made chains, and the command line."""

from .strategies import STRATEGIES, api_tool_call

__all__ = ["STRATEGIES", "api_tool_call"]
