"""The messages of further providers."""
