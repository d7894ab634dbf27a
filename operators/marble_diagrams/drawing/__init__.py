"""Diagrams as SVG. Knows no operators and no events."""
