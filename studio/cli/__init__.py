"""The commands of `penstock`."""
