"""The API of Gemini."""
