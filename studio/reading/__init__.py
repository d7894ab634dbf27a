"""Recordings: read, checked, played, inspected, served."""
