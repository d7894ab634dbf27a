"""The commands of `penstock`, one a file."""
