"""The commands that record streams, show them and compare them."""
