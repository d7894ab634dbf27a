"""The stream of Anthropic's Messages API."""
