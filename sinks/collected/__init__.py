"""A whole stream of events as one value, and as a data frame."""
