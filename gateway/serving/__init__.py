"""What serves the gateway: its paths, the upstream, the answers of both."""
