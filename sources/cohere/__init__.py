"""The chat API of Cohere."""
