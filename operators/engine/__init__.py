"""What runs operators: stages, the ways to run them, limits, ids."""
