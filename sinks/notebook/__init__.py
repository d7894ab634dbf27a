"""Cards of segments for notebooks."""
