"""Segments and calls: from deltas to segment events, arguments and their validation."""
