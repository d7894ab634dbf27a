"""The reader of text calls behind `parse_text`."""
