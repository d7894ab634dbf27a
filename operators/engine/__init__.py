"""The engine of operators: stages, four ways to run them, limits, ids."""
