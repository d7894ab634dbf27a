"""Where streams are read: threads, event loops, files."""
