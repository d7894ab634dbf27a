"""Structured answers: the type of the output, and how a request asks for it."""
