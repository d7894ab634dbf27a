"""What a notebook shows of a value: cards as plain text and HTML, with code in colours."""
