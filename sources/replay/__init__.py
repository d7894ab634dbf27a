"""Servers on loopback that answer with recordings."""
