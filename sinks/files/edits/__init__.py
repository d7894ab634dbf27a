"""The forms of an edit: each takes a file's text and returns the new one, or raises `EditError`."""
