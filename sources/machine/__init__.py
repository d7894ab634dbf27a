"""What the provider machines share. No I/O."""
