"""Values as rows of a data frame."""
