"""Dialects as data: one grammar per file."""
