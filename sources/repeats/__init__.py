"""What servers send again: events of a resumed stream, and messages that grow."""
