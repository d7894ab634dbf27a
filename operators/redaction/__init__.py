"""What `redact` is made of."""
