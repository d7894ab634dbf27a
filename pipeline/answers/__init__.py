"""The whole answer, and the messages of the next turn in the form of each provider."""
