"""Dialects as data, a family a file: a maker's are together, and a single one is with those that it is like."""
