"""The recorded answers of `penstock demo`, and how they are played."""
