"""The logs: one contract, in memory, in a file, and on servers."""
