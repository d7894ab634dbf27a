"""What a gateway keeps, counts and limits while it runs: recordings, conversations, the log, metrics, turns."""
