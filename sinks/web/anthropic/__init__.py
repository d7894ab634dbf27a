"""What the Messages protocol of Anthropic needs beside its frames."""
