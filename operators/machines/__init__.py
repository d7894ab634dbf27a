"""Incremental readers of JSON, literals and markers. They know no events and no calls."""
