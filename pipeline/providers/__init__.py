"""Requests to providers: a table with one entry per provider."""
