"""Dynamic programming over a set of transitions: upper and lower occupancy, optimistic plans."""
