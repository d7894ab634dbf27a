"""The ledgers: which calls were started and what they answered, in a file and in a database."""
