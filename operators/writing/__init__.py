"""Calls written as text, and dialects described in words."""
