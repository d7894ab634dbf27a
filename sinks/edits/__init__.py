"""Edits in the forms in which models write them: whole, and while they arrive."""
