"""The explorer: a traced stream to look through, item by item, in a notebook and in the app."""
