"""`Dialect`: the grammar in which a model writes calls, and what follows from it."""
