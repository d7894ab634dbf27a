"""JSON schemas of tools: made, checked, adapted to a provider."""
