"""Tools, their definitions, and their form for each provider."""
