"""The table of APIs, and which of them a stream is from."""
