"""How values are shown in a notebook: cards as plain text and HTML. Does not import the events."""
