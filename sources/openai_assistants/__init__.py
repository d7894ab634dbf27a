"""The Assistants API of OpenAI."""
