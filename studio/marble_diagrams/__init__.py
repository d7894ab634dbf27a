"""Marble diagrams: strings in the notation of reactivex, and pictures of streams and traces."""
