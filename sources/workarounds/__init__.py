"""What SDKs leave undone, done from outside: a file for each, which says what is missing in which version."""
