"""APIs whose streams are alike."""

from __future__ import annotations

FAMILIES = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock-converse",
    "cohere2": "cohere",
    "cohere1": "",  # of no API that is read
    "interactions": "gemini-interactions",
}
