"""The chat APIs of Cohere: the second version and the first."""
