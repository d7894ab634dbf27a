"""The table of APIs, and detection of a stream's API."""
