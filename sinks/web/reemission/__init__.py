"""Any answer as the stream of another provider: one encoder for each API."""
