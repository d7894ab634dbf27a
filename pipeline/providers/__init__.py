"""The providers as they are asked: one row each."""
