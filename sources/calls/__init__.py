"""The calls of an answer: which delta is of which call, and when a call has ended."""
