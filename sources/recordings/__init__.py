"""Recordings: the items of a stream with their times, as lines of JSON."""
