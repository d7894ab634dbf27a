"""Read streams: threads, event loops, files."""
