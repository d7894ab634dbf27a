"""The disk below one folder: its paths, its files, and new content beside them."""
