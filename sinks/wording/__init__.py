"""Events in words, safe to print."""
