"""The log in which streams are kept: what it promises, and what writes into it."""
