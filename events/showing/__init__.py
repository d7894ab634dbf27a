"""What a notebook shows of values: cards as plain text and HTML. Knows no event."""
