"""Incremental readers of JSON, literals and markers; independent of events and calls."""
