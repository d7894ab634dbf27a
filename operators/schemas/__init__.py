"""JSON schemas of tools, and values typed by them."""
