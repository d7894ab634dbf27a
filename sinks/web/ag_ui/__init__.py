"""Events in the form that servers send."""
