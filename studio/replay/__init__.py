"""Servers on this machine that answer with recordings."""
