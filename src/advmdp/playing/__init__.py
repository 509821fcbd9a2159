"""What ``play`` is made of: its loops, for feedback at once and late, contexts, snapshots."""
