"""How models write calls into their text, as data: one grammar a file."""
