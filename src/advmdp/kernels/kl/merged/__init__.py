"""Free rows of a state merged into one line."""
