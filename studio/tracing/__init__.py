"""Watch a chain at work: what each stage returned for each item, and what it withheld."""
