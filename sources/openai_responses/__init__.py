"""Keep the assistant's message while it streams, in the form in which its API takes it back."""
