"""Tools, their definitions, and the form in which each provider wants them."""
