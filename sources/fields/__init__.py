"""The fields of the wire's objects: how they are read, and which are known, left out, or of nobody."""
