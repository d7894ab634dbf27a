"""One run of a pipeline, sync and async."""
