"""Mistral, whose chat is a dialect of OpenAI's."""
