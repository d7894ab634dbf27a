"""The buffer: a process that owns the requests to a provider, and writes their answers into a log."""
