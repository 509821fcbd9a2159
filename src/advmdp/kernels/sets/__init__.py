"""Sets of transitions: one file per set, the same functions in each."""
