"""The doctor: what a server breaks of a model's answers, what the gateway mends of it, and what neither can."""
