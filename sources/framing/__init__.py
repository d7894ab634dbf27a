"""Framings of a response's body: server-sent events, NDJSON, a JSON array."""
