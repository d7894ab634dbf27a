"""Texts that are read while they arrive."""
