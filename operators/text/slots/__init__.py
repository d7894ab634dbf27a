"""Readers of one value inside a text call."""
