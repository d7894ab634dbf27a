"""The Interactions API of Google's Gemini."""
