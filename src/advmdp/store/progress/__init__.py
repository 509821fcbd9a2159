"""How far runs are, for those who watch a store."""
