"""Events in the form in which servers send them."""
