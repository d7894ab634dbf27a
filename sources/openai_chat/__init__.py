"""OpenAI's chat completions, and those of the many servers that are compatible."""
