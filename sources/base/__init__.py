"""Common parts of the provider machines. No I/O."""
